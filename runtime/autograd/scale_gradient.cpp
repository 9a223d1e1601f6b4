#include "scale_gradient.h"

#include <array>
#include <numbers>
#include <numeric>
#include <vector>

#include <octet/runtime/parallel.h>

namespace octet::autograd {

float scale_gradient(double sum, float scale, const ScaleTarget& target) {
  double result = sum * target.factor;
  if (target.log2) result *= scale * std::numbers::ln2;
  return static_cast<float>(result);
}

// Sums columns of each image, viewed as a matrix of 16 columns, separately, for
// bit-identical results with any number of threads.
Tensor scale_gradient(const Expression& e, const Tensor& g) {
  constexpr int64_t kColumns = 16;
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

}  // namespace octet::autograd
