#include "reduction_plan.h"

#include <numeric>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

std::vector<int> all_axes(const Shape& x) {
  std::vector<int> axes(static_cast<size_t>(x.rank()));
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

std::array<bool, Shape::kMaxRank> flags(std::string_view op, const Shape& x,
                                        const std::vector<int>& axes) {
  std::array<bool, Shape::kMaxRank> reduced{};
  for (const int axis : axes) {
    const int index = axis < 0 ? axis + x.rank() : axis;
    if (index < 0 || index >= x.rank() || reduced[static_cast<size_t>(index)]) {
      throw ShapeError("out_of_range", op,
                       fmt::format("axes must be distinct axes of {}, got [{}]",
                                   x.to_string(), fmt::join(axes, ",")));
    }
    reduced[static_cast<size_t>(index)] = true;
  }
  return reduced;
}

}  // namespace

ReductionPlan::ReductionPlan(std::string_view op, const Shape& shape)
    : ReductionPlan(op, shape, all_axes(shape), Keepdims::no) {}

ReductionPlan::ReductionPlan(std::string_view op, const Shape& shape,
                             const std::vector<int>& axes, Keepdims keepdims)
    : x(shape) {
  const auto reduced = flags(op, x, axes);
  int first = x.rank();
  int last = -1;
  std::vector<int64_t> kept;
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (reduced[static_cast<size_t>(axis)]) {
      first = std::min(first, axis);
      last = axis;
      if (keepdims == Keepdims::yes) kept.push_back(1);
    } else {
      kept.push_back(x[axis]);
    }
  }
  result = Shape(std::span<const int64_t>(kept));
  images_ = (x.rank() == 4 && axes.size() == 2 && first == 1 && last == 2) ||
            (x.rank() == 3 && axes.size() == 1 && first == 1);
  keeps_samples_ = x.rank() > 0 && !reduced[0];
  // SavedTensor axes before the last reduced axis, reduced axes, remaining
  // axes.
  std::vector<int> order;
  for (const bool turn : {false, true}) {
    for (int axis = 0; axis <= last; ++axis) {
      if (reduced[static_cast<size_t>(axis)] == turn) order.push_back(axis);
    }
  }
  for (int axis = 0; axis < x.rank(); ++axis) {
    if (axis > last && last >= 0) {
      order.push_back(axis);
      inner *= x[axis];
    } else if (reduced[static_cast<size_t>(axis)]) {
      count *= x[axis];
    } else {
      outer *= x[axis];
    }
  }
  if (last >= 0 && order != all_axes(x)) order_ = std::move(order);
}

ReductionPlan ReductionPlan::for_samples(int64_t n) const {
  ReductionPlan plan = *this;
  plan.x = x.with(0, n);
  plan.result = result.with(0, n);
  // Axis 0 precedes all reduced axes; without any, all axes are inner.
  int64_t& samples = count == 1 && outer == 1 ? plan.inner : plan.outer;
  samples = samples / x[0] * n;
  return plan;
}

void ReductionPlan::expect_values(std::string_view op) const {
  if (count > 0) return;
  throw ShapeError("invalid_shape", op,
                   fmt::format("reduces over no values of {}", x.to_string()));
}

Tensor ReductionPlan::arrange(const Tensor& t) const {
  return order_.empty() ? t : t.transposed(order_);
}

Tensor ReductionPlan::restore(const Tensor& t) const {
  if (order_.empty()) return t.reshaped(x);
  std::vector<int64_t> dims;
  std::vector<int> back(order_.size());
  for (size_t i = 0; i < order_.size(); ++i) {
    dims.push_back(x[order_[i]]);
    back[static_cast<size_t>(order_[i])] = static_cast<int>(i);
  }
  return t.reshaped(Shape(std::span<const int64_t>(dims))).transposed(back);
}

}  // namespace octet
