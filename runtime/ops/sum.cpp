#include <algorithm>
#include <array>
#include <vector>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "kernels/kernels.h"
#include "reduction_plan.h"

namespace octet {
namespace {

constexpr int64_t kRun = 64;

// Eight partial sums, added in order.
double sum_of(const float* x, int64_t n) {
  std::array<double, 8> parts{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t k = 0; k < 8; ++k) parts[k] += x[i + static_cast<int64_t>(k)];
  }
  for (size_t k = 0; i < n; ++i, ++k) parts[k] += x[i];
  double total = 0;
  for (const double part : parts) total += part;
  return total;
}

// Reduces x and divides by `divisor`. Large sums with few results are split
// into chunks by shape and added in order.
void reduce(const Tensor& arranged, const ReductionPlan& plan, double divisor,
            Tensor& result) {
  const float* x = arranged.f32().data();
  float* y = result.f32().data();
  const int64_t blocks = (plan.inner + kSumColumns - 1) / kSumColumns;
  const int64_t chunks =
      plan.outer * blocks >= 16
          ? 1
          : std::clamp<int64_t>(
                plan.count * std::min(plan.inner, kSumColumns) / (1 << 14), 1,
                16);
  std::vector<double> partial(
      chunks == 1 ? 0 : static_cast<size_t>(plan.outer * chunks * plan.inner));
  parallel_chunks(
      plan.outer * blocks * chunks, [&](int64_t first, int64_t last, int64_t) {
        std::array<double, kSumColumns> total;
        for (int64_t task = first; task < last; ++task) {
          const int64_t chunk = task % chunks;
          const int64_t column = task / chunks % blocks * kSumColumns;
          const int64_t outer = task / chunks / blocks;
          const int64_t columns = std::min(kSumColumns, plan.inner - column);
          const int64_t begin = plan.count * chunk / chunks;
          const int64_t end = plan.count * (chunk + 1) / chunks;
          sum_rows(total.data(),
                   x + (outer * plan.count + begin) * plan.inner + column,
                   plan.inner, end - begin, columns);
          for (int64_t k = 0; k < columns; ++k) {
            const double sum = total[static_cast<size_t>(k)];
            if (chunks == 1) {
              y[outer * plan.inner + column + k] =
                  static_cast<float>(sum / divisor);
            } else {
              partial[static_cast<size_t>(
                  (outer * chunks + chunk) * plan.inner + column + k)] = sum;
            }
          }
        }
      });
  if (chunks == 1) return;
  for (int64_t outer = 0; outer < plan.outer; ++outer) {
    for (int64_t k = 0; k < plan.inner; ++k) {
      double sum = 0;
      for (int64_t chunk = 0; chunk < chunks; ++chunk) {
        sum += partial[static_cast<size_t>(
            (outer * chunks + chunk) * plan.inner + k)];
      }
      y[outer * plan.inner + k] = static_cast<float>(sum / divisor);
    }
  }
}

// The gradient: broadcasts dy, divided, to all summed values.
Tensor spread(const Tensor& dy, const ReductionPlan& plan, double divisor) {
  Tensor dx(Shape{plan.outer, plan.count, plan.inner});
  const float* from = dy.f32().data();
  float* to = dx.f32().data();
  const float factor = static_cast<float>(1 / divisor);
  parallel_chunks(plan.outer * plan.count,
                  [&](int64_t first, int64_t last, int64_t) {
                    for (int64_t row = first; row < last; ++row) {
                      const float* g = from + row / plan.count * plan.inner;
                      float* out = to + row * plan.inner;
                      for (int64_t k = 0; k < plan.inner; ++k)
                        out[k] = g[k] * factor;
                    }
                  });
  return plan.restore(dx);
}

Variable divided_sum(std::string_view op, const Variable& x,
                     const ReductionPlan& plan, double divisor) {
  if (plan.over_images()) return image_sum(op, x, plan.result, divisor);
  const Variable traced = offer_reduction(
      op, x, plan,
      [divisor](const Tensor& arranged, const ReductionPlan& p, Tensor& y) {
        reduce(arranged, p, divisor, y);
      });
  if (traced) return traced;
  Tensor y(plan.result);
  reduce(plan.arrange(x.value()), plan, divisor, y);
  return record(op, {x}, y, {}, [plan, divisor](const Tensor& dy) {
    return std::vector{spread(dy, plan, divisor)};
  });
}

Variable mean_of(const Variable& x, const ReductionPlan& plan) {
  plan.expect_values("mean");
  return divided_sum("mean", x, plan, static_cast<double>(plan.count));
}

}  // namespace

void sum_rows(double* total, const float* x, int64_t stride, int64_t rows,
              int64_t columns) {
  if (columns == 1 && stride == 1) {
    *total = sum_of(x, rows);
    return;
  }
  std::fill(total, total + columns, 0.0);
  std::array<float, kSumColumns> run;
  for (int64_t row = 0; row < rows; row += kRun) {
    std::copy(x + row * stride, x + row * stride + columns, run.begin());
    const int64_t end = std::min(rows, row + kRun);
    for (int64_t r = row + 1; r < end; ++r) {
      kernels::table().accumulate(run.data(), x + r * stride, columns);
    }
    for (int64_t k = 0; k < columns; ++k) {
      total[k] += run[static_cast<size_t>(k)];
    }
  }
}

Variable sum(const Variable& x) {
  return divided_sum("sum", x, ReductionPlan("sum", x.shape()), 1);
}

Variable sum(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims) {
  return divided_sum("sum", x, ReductionPlan("sum", x.shape(), axes, keepdims),
                     1);
}

Variable mean(const Variable& x) {
  return mean_of(x, ReductionPlan("mean", x.shape()));
}

Variable mean(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims) {
  return mean_of(x, ReductionPlan("mean", x.shape(), axes, keepdims));
}

}  // namespace octet
