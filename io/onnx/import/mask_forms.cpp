// Where with a constant condition, as PyTorch writes masked_fill().
#include <optional>
#include <string>

#include "forms.h"

namespace octet::io::importing {
namespace {

/// A number so low that a value added to it is lost in rounding: one of minus a
/// billion moves by 32 only.
constexpr float kLow = -1e9f;

/// `number` where the condition is `chosen`, else 0.
Tensor mask_of(const Tensor& condition, bool chosen, float number) {
  Tensor mask(condition.shape());
  const auto from = condition.data<bool>();
  const auto to = mask.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = from[i] == chosen ? number : 0.0f;
  }
  return mask;
}

}  // namespace

bool match_mask(ImportGraph& graph, ImportNode& node) {
  if (!is_op(node, "Where") || node.proto.input_size() != 3) return false;
  const Constant* condition = graph.constant(node.proto.input(0));
  if (condition == nullptr || condition->value.dtype() != DType::boolean) {
    return false;
  }
  FormMatch form(graph, node);
  for (const int at : {1, 2}) {
    const std::optional<float> number = form.number(node.proto.input(at));
    if (!number || !(*number <= kLow)) continue;
    const std::string name = node.proto.output(0) + "/mask";
    if (graph.constant(name) != nullptr || graph.maker(name) != nullptr) {
      return false;
    }
    const std::string x = node.proto.input(3 - at);
    const std::string source = condition->source + "/mask";
    graph.set_constant(
        name, {mask_of(condition->value, at == 1, *number), {}, source});
    form.replace_by("Add", {x, name});
    return true;
  }
  return false;
}

}  // namespace octet::io::importing
