#include <functional>
#include <utility>

#include <octet/runtime/ops.h>

#include "elementwise.h"

namespace octet {
namespace {

template <class Use>
Variable with_comparison(Comparison comparison, const Use& use) {
  const auto truth = [&](auto holds) {
    return use([holds](float a, float b) { return holds(a, b) ? 1.0f : 0.0f; });
  };
  switch (comparison) {
    case Comparison::equal:
      return truth(std::equal_to<>());
    case Comparison::not_equal:
      return truth(std::not_equal_to<>());
    case Comparison::greater:
      return truth(std::greater<>());
    case Comparison::greater_equal:
      return truth(std::greater_equal<>());
    case Comparison::less:
      return truth(std::less<>());
    case Comparison::less_equal:
      break;
  }
  return truth(std::less_equal<>());
}

}  // namespace

Variable compare(Comparison comparison, const Variable& x, const Variable& y) {
  const Broadcast plan("compare", x.shape(), y.shape());
  return with_comparison(comparison, [&](auto truth) {
    const Variable traced =
        offer_elementwise("compare", x, y, plan.shape(), truth);
    if (traced) return traced;
    return Variable(combine(plan, {}, x.value(), y.value(), truth));
  });
}

Variable where(const Variable& condition, const Variable& x,
               const Variable& y) {
  const Shape values = Broadcast("where", x.shape(), y.shape()).shape();
  const Shape shape = Broadcast("where", condition.shape(), values).shape();
  const auto chosen_of = [](float holds, float v, float w) {
    return holds != 0 ? v : w;
  };
  const auto expanded = [&](const Variable& v) {
    return v.shape() == shape ? v : broadcast_to(v, shape);
  };
  const Variable a = shape == values ? x : broadcast_to(x, shape);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "where",
        .inputs = {expanded(condition.detach()), expanded(x), expanded(y)},
        .shape = shape,
        .forward = [chosen_of](std::span<const Tensor> in, Tensor& z) {
          const Broadcast same("where", z.shape(), z.shape());
          combine_into(z, same, in[0], in[1], in[2], chosen_of);
        }};
  });
  if (traced) return traced;
  const Tensor c = broadcast_to(condition.detach(), shape).value();
  const Broadcast plan("where", a.shape(), y.shape());
  const Tensor chosen = combine(plan, c, a.value(), y.value(), chosen_of);
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
