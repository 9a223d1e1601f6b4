#include "scale_gradient.h"

#include <array>
#include <numbers>
#include <numeric>
#include <vector>

#include <octet/runtime/parallel.h>

#include "tensor/arena.h"

namespace octet::autograd {
namespace {

constexpr int64_t kColumns = 16;  // of tensors viewed as matrices

// g where low < x < high, elsewhere 0.
Tensor inside(const Tensor& g, const Tensor& x, float low, float high) {
  std::array<float, kColumns> lows, highs;
  lows.fill(low);
  highs.fill(high);
  Tensor result(x.shape());
  const kernels::ColumnPass all{.g = g.f32().data(),
                                .x = x.f32().data(),
                                .low = lows.data(),
                                .high = highs.data(),
                                .channels = kColumns,
                                .out = result.f32().data()};
  const auto pass = [&](int64_t first, int64_t rows, int64_t channels) {
    kernels::ColumnPass part = all;
    part.g += first * kColumns;
    part.x += first * kColumns;
    part.out += first * kColumns;
    part.rows = rows;
    part.channels = channels;
    kernels::table().pass_columns(part);
  };
  const int64_t rows = x.size() / kColumns;
  parallel_chunks(rows, [&](int64_t first, int64_t last, int64_t) {
    pass(first, last - first, kColumns);
  });
  pass(rows, 1, x.size() % kColumns);
  return result;
}

}  // namespace

float scale_gradient(double sum, float scale, const ScaleTarget& target) {
  double result = sum * target.factor;
  if (target.log2) result *= scale * std::numbers::ln2;
  return static_cast<float>(result);
}

// Sums columns of each image, viewed as a matrix of 16 columns, separately, for
// bit-identical results with any number of threads.
Tensor scale_gradient(const Expression& e, const Tensor& g) {
  Expression before = e;
  before.qparams = {};
  const ExpressionEvaluator values(before, OutputKind::real);
  const ImageShape& images = values.images();
  const float* gradient = g.f32().data();
  const float scale = e.qparams.scale.item();
  std::array<float, kColumns> scales;
  scales.fill(scale);
  std::vector<double> sums(static_cast<size_t>(kColumns * images.n));
  parallel_chunks(images.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const int64_t size = images.size();
      kernels::ColumnSlopes call{.g = gradient + i * size,
                                 .x = values.image(i, 0),
                                 .scale = scales.data(),
                                 .rows = size / kColumns,
                                 .channels = kColumns,
                                 .stride = kColumns,
                                 .low = static_cast<float>(e.qparams.low),
                                 .high = static_cast<float>(e.qparams.high),
                                 .between = e.scale.between,
                                 .sums = sums.data() + kColumns * i};
      kernels::table().add_slopes(call);
      call.g += call.rows * kColumns;
      call.x += call.rows * kColumns;
      call.rows = 1;
      call.channels = size % kColumns;
      kernels::table().add_slopes(call);
    }
  });
  const double sum = std::accumulate(sums.begin(), sums.end(), 0.0);
  return Tensor::scalar(scale_gradient(sum, scale, e.scale));
}

Tensor scale_slopes(const Expression& e) {
  Expression before = e;
  before.qparams = {};
  const Tensor x = value_of(before);
  const Tensor q = evaluate(e);
  const float scale = e.qparams.scale.item();
  const Tensor inner = inside(e.scale.between != 0 ? x : q, x,
                              scale * static_cast<float>(e.qparams.low),
                              scale * static_cast<float>(e.qparams.high));
  // (q - inner) / scale, in whole vectors if the size permits.
  const bool whole = x.size() % kColumns == 0;
  const Shape view = whole ? Shape{x.size() / kColumns, kColumns} : e.shape;
  const Shape channels{ImageShape(view).c};
  Expression slopes = expression_of(q.reshaped(view), nullptr);
  slopes.first.a = Tensor::full(channels, 1 / scale);
  slopes.second.emplace();
  slopes.second->t = inner.reshaped(view);
  slopes.second->a = Tensor::full(channels, -1 / scale);
  return evaluate(slopes).reshaped(e.shape);
}

double dot(const Expression& a, const Tensor& b) {
  const ExpressionEvaluator reader(a, OutputKind::real);
  const ImageShape& images = reader.images();
  Tensor sums = Tensor::zeros({images.n, 3, images.c});
  float* const to = sums.f32().data();
  const float* from = b.f32().data();
  parallel_chunks(images.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const float* const z = from + i * images.size();
      kernels::GradientMask call;
      call.z = z;
      call.value = z;
      call.low = -kInfinity;
      call.high = kInfinity;
      call.sums = to + i * 3 * images.c;
      call.channels = images.c;
      kernels::table().mask(arena::scratch(1, images.size()),
                            reader.image(i, 0), images.h * images.w, call);
    }
  });
  double sum = 0;
  for (int64_t i = 0; i < images.n; ++i) {
    const float* const products = to + (3 * i + 1) * images.c;
    sum += std::accumulate(products, products + images.c, 0.0);
  }
  return sum;
}

Tensor sum_of_slopes(const Expression& e, const Tensor& slopes) {
  const auto all = slopes.f32();
  const double sum = std::accumulate(all.begin(), all.end(), 0.0);
  return Tensor::scalar(scale_gradient(sum, e.qparams.scale.item(), e.scale));
}

}  // namespace octet::autograd
