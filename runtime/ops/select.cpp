#include <utility>

#include <octet/runtime/ops.h>

#include "../broadcast.h"

namespace octet {
namespace {

template <class Holds>
Tensor truth(const Broadcast& plan, const Tensor& x, const Tensor& y,
             Holds holds) {
  return combine(plan, {}, x, y, [holds](float a, float b) {
    return holds(a, b) ? 1.0f : 0.0f;
  });
}

Tensor compared(Comparison comparison, const Broadcast& plan, const Tensor& x,
                const Tensor& y) {
  switch (comparison) {
    case Comparison::equal:
      return truth(plan, x, y, [](float a, float b) { return a == b; });
    case Comparison::not_equal:
      return truth(plan, x, y, [](float a, float b) { return a != b; });
    case Comparison::greater:
      return truth(plan, x, y, [](float a, float b) { return a > b; });
    case Comparison::greater_equal:
      return truth(plan, x, y, [](float a, float b) { return a >= b; });
    case Comparison::less:
      return truth(plan, x, y, [](float a, float b) { return a < b; });
    case Comparison::less_equal:
      break;
  }
  return truth(plan, x, y, [](float a, float b) { return a <= b; });
}

}  // namespace

Variable compare(Comparison comparison, const Variable& x, const Variable& y) {
  const Broadcast plan("compare", x.shape(), y.shape());
  return Variable(compared(comparison, plan, x.value(), y.value()));
}

Variable where(const Variable& condition, const Variable& x,
               const Variable& y) {
  const Shape values = Broadcast("where", x.shape(), y.shape()).shape();
  const Shape shape = Broadcast("where", condition.shape(), values).shape();
  const Tensor c = broadcast_to(condition.detach(), shape).value();
  const Variable a = shape == values ? x : broadcast_to(x, shape);
  const Broadcast plan("where", a.shape(), y.shape());
  const Tensor chosen =
      combine(plan, c, a.value(), y.value(),
              [](float holds, float v, float w) { return holds != 0 ? v : w; });
  return record("where", {a, y}, chosen, {c}, [c, shape](const Tensor& dz) {
    const Broadcast same("where", shape, {});
    const auto part = [&](bool of_x) {
      return combine(same, c, dz, Tensor::scalar(0),
                     [of_x](float holds, float g, float none) {
                       return (holds != 0) == of_x ? g : none;
                     });
    };
    return std::vector{part(true), part(false)};
  });
}

}  // namespace octet
