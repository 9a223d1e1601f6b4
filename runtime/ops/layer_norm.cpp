#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "row_sums.h"

namespace octet {
namespace {

using kernels::RowMoments;

void check(const Shape& x, const Variable& parameter, const char* name) {
  if (!parameter || parameter.shape() == Shape{x[-1]}) return;
  throw ShapeError(
      "shape_mismatch", "layer_norm",
      fmt::format("{} must have shape {}, got {}", name,
                  Shape{x[-1]}.to_string(), parameter.shape().to_string()));
}

// Gradients of x, gamma and beta.
std::vector<Tensor> gradients(const Tensor& x, const Tensor& gamma,
                              const std::vector<RowMoments>& moments,
                              const Tensor& dy) {
  const int64_t c = x.shape()[-1];
  const int64_t rows = x.size() / c;
  Tensor dx(x.shape());
  float* to = dx.f32().data();
  const float* from = x.f32().data();
  const float* g = dy.f32().data();
  const float* scale = gamma.f32().data();
  const int64_t chunks = chunk_count(rows);
  std::vector<double> sums(static_cast<size_t>(chunks * 2 * c), 0.0);
  parallel_chunks(rows, [&](int64_t first, int64_t last, int64_t chunk) {
    double* dgamma = sums.data() + chunk * 2 * c;
    double* dbeta = dgamma + c;
    for (int64_t row = first; row < last; ++row) {
      const RowMoments m = moments[static_cast<size_t>(row)];
      const float* xr = from + row * c;
      const float* gr = g + row * c;
      float* dr = to + row * c;
      const double count = static_cast<double>(c);
      const double mean =
          row_sum(c, [=](int64_t i) { return double{gr[i]} * scale[i]; }) /
          count;
      const double slope =
          row_sum(c,
                  [=](int64_t i) {
                    return double{gr[i]} * scale[i] * m.normalized(xr[i]);
                  }) /
          count;
      for (int64_t i = 0; i < c; ++i) {
        const float n = m.normalized(xr[i]);
        dgamma[i] += double{gr[i]} * n;
        dbeta[i] += gr[i];
        dr[i] = static_cast<float>(
            m.factor * (double{gr[i]} * scale[i] - mean - n * slope));
      }
    }
  });
  Tensor dgamma = Tensor::zeros({c});
  Tensor dbeta = Tensor::zeros({c});
  for (int64_t i = 0; i < c; ++i) {
    double a = 0;
    double b = 0;
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      a += sums[static_cast<size_t>(chunk * 2 * c + i)];
      b += sums[static_cast<size_t>((chunk * 2 + 1) * c + i)];
    }
    dgamma.f32()[static_cast<size_t>(i)] = static_cast<float>(a);
    dbeta.f32()[static_cast<size_t>(i)] = static_cast<float>(b);
  }
  return {dx, dgamma, dbeta};
}

// `moments` receives those of each row, unless null.
void normalize_rows(const Tensor& x, const Tensor& gamma, const Tensor& beta,
                    float epsilon, Tensor& y, RowMoments* moments) {
  const int64_t c = x.shape()[-1];
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_chunks(x.size() / c, [&](int64_t first, int64_t last, int64_t) {
    kernels::table().normalize(
        {.x = from + first * c,
         .gamma = gamma.f32().data(),
         .beta = beta.f32().data(),
         .rows = last - first,
         .n = c,
         .epsilon = epsilon,
         .y = to + first * c,
         .moments = moments == nullptr ? nullptr : moments + first});
  });
}

}  // namespace

Variable layer_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, float epsilon) {
  if (x.shape().rank() < 1 || x.shape()[-1] < 1) {
    throw ShapeError("invalid_shape", "layer_norm",
                     fmt::format("the last axis must not be empty, got {}",
                                 x.shape().to_string()));
  }
  check(x.shape(), gamma, "gamma");
  check(x.shape(), beta, "beta");
  const int64_t c = x.shape()[-1];
  const Tensor scale = gamma ? gamma.value() : Tensor::full({c}, 1);
  const Tensor offset = beta ? beta.value() : Tensor::zeros({c});
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "layer_norm",
        .inputs = {x},
        .shape = x.shape(),
        .forward =
            [a = scale.clone(), b = offset.clone(), epsilon](
                std::span<const Tensor> in, Tensor& y) {
              normalize_rows(in[0], a, b, epsilon, y, nullptr);
            },
        .across_samples = x.shape().rank() < 2};
  });
  if (traced) return traced;
  const Tensor values = x.value();
  std::vector<RowMoments> moments(static_cast<size_t>(values.size() / c));
  Tensor y(x.shape());
  normalize_rows(values, scale, offset, epsilon, y, moments.data());
  return record(
      "layer_norm", {x, gamma, beta}, y, {values, scale},
      [values, scale, moments = std::move(moments)](const Tensor& dy) {
        return gradients(values, scale, moments, dy);
      });
}

}  // namespace octet
