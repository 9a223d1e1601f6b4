#include <octet/layers/forward_context.h>
#include <octet/runtime/ops.h>

namespace octet {

Variable ForwardContext::read(const Parameter& parameter) const {
  if (hook != nullptr) {
    if (const std::optional<Grid> grid = hook->grid(parameter)) {
      return fake_quantize(parameter.variable, *grid);
    }
  }
  return parameter.variable;
}

Variable ForwardContext::inner(std::string_view name, const Variable& x) const {
  return hook != nullptr ? hook->inner(name, x) : x;
}

}  // namespace octet
