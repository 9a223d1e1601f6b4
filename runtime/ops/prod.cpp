#include <vector>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "reduction_plan.h"

namespace octet {
namespace {

// Calls body(outer * inner + k, offset of the first value) for each product;
// its values are plan.inner apart.
template <class Body>
void for_each_product(const ReductionPlan& plan, const Body& body) {
  parallel_chunks(plan.outer, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t outer = first; outer < last; ++outer) {
      for (int64_t k = 0; k < plan.inner; ++k) {
        body(outer * plan.inner + k, outer * plan.count * plan.inner + k);
      }
    }
  });
}

void products(const Tensor& arranged, const ReductionPlan& plan,
              Tensor& result) {
  const float* x = arranged.f32().data();
  float* y = result.f32().data();
  for_each_product(plan, [&](int64_t i, int64_t at) {
    double product = 1;
    for (int64_t row = 0; row < plan.count; ++row) {
      product *= double{x[at + row * plan.inner]};
    }
    y[i] = static_cast<float>(product);
  });
}

// The product of the other values is that of the values before times that of
// the values after: no division, so that zeros need no special case.
Tensor gradient(const Tensor& arranged, const Tensor& dy,
                const ReductionPlan& plan) {
  const float* x = arranged.f32().data();
  const float* g = dy.f32().data();
  Tensor dx(Shape{plan.outer, plan.count, plan.inner});
  float* out = dx.f32().data();
  for_each_product(plan, [&](int64_t i, int64_t at) {
    std::vector<double> before(static_cast<size_t>(plan.count));
    double product = double{g[i]};
    for (int64_t row = 0; row < plan.count; ++row) {
      before[static_cast<size_t>(row)] = product;
      product *= double{x[at + row * plan.inner]};
    }
    double after = 1;
    for (int64_t row = plan.count; row-- > 0;) {
      const int64_t place = at + row * plan.inner;
      out[place] = static_cast<float>(before[static_cast<size_t>(row)] * after);
      after *= double{x[place]};
    }
  });
  return plan.restore(dx);
}

Variable prod_of(const Variable& x, const ReductionPlan& plan) {
  const Variable traced = offer_reduction("prod", x, plan, products);
  if (traced) return traced;
  const Tensor arranged = plan.arrange(x.value());
  Tensor y(plan.result);
  products(arranged, plan, y);
  return record("prod", {x}, y, {arranged}, [arranged, plan](const Tensor& dy) {
    return std::vector{gradient(arranged, dy, plan)};
  });
}

}  // namespace

Variable prod(const Variable& x) {
  return prod_of(x, ReductionPlan("prod", x.shape()));
}

Variable prod(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims) {
  return prod_of(x, ReductionPlan("prod", x.shape(), axes, keepdims));
}

}  // namespace octet
