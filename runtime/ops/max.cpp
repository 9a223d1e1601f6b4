#include <algorithm>
#include <string_view>
#include <vector>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "reduction_plan.h"

namespace octet {
namespace {

// NaN wins and stays: no value compares greater.
float larger(float a, float b) { return b > a || b != b ? b : a; }

// 1 for values equal to the maximum; NaN equals NaN.
float share(float value, float top) {
  return value == top || (value != value && top != top) ? 1.0f : 0.0f;
}

void largest(const Tensor& arranged, const ReductionPlan& plan,
             Tensor& result) {
  const float* x = arranged.f32().data();
  float* y = result.f32().data();
  const int64_t c = plan.inner;
  parallel_chunks(plan.outer, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t outer = first; outer < last; ++outer) {
      const float* from = x + outer * plan.count * c;
      float* top = y + outer * c;
      std::copy(from, from + c, top);
      for (int64_t row = 1; row < plan.count; ++row) {
        from += c;
        for (int64_t k = 0; k < c; ++k) top[k] = larger(top[k], from[k]);
      }
    }
  });
}

Tensor gradient(const Tensor& arranged, const Tensor& y, const Tensor& dy,
                const ReductionPlan& plan) {
  const float* x = arranged.f32().data();
  const float* tops = y.f32().data();
  const float* gradients = dy.f32().data();
  Tensor dx(Shape{plan.outer, plan.count, plan.inner});
  float* to = dx.f32().data();
  const int64_t c = plan.inner;
  parallel_chunks(plan.outer, [&](int64_t first, int64_t last, int64_t) {
    std::vector<float> part(static_cast<size_t>(c));
    for (int64_t outer = first; outer < last; ++outer) {
      const float* top = tops + outer * c;
      const float* from = x + outer * plan.count * c;
      float* out = to + outer * plan.count * c;
      float* g = part.data();
      std::fill(part.begin(), part.end(), 0.0f);
      for (int64_t row = 0; row < plan.count; ++row) {
        for (int64_t k = 0; k < c; ++k)
          g[k] += share(from[row * c + k], top[k]);
      }
      for (int64_t k = 0; k < c; ++k) g[k] = gradients[outer * c + k] / g[k];
      for (int64_t row = 0; row < plan.count; ++row) {
        for (int64_t k = 0; k < c; ++k) {
          const bool taken = share(from[row * c + k], top[k]) > 0;
          out[row * c + k] = taken ? g[k] : 0.0f;
        }
      }
    }
  });
  return plan.restore(dx);
}

Variable max_of(std::string_view op, const Variable& x,
                const ReductionPlan& plan) {
  plan.expect_values(op);
  const Variable traced = offer_reduction("max", x, plan, largest);
  if (traced) return traced;
  const Tensor arranged = plan.arrange(x.value());
  Tensor y(plan.result);
  largest(arranged, plan, y);
  return record("max", {x}, y, {arranged},
                [arranged, y, plan](const Tensor& dy) {
                  return std::vector{gradient(arranged, y, dy, plan)};
                });
}

}  // namespace

Variable max(const Variable& x) {
  return max_of("max", x, ReductionPlan("max", x.shape()));
}

Variable max(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims) {
  return max_of("max", x, ReductionPlan("max", x.shape(), axes, keepdims));
}

Variable min(const Variable& x) {
  return negate(max_of("min", negate(x), ReductionPlan("min", x.shape())));
}

Variable min(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims) {
  return negate(max_of("min", negate(x),
                       ReductionPlan("min", x.shape(), axes, keepdims)));
}

}  // namespace octet
