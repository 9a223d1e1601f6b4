#include <octet/layers/forward_context.h>

namespace octet {

Variable ForwardContext::read(const Parameter& parameter) const {
  return hook != nullptr ? hook->weight(parameter) : parameter.variable;
}

Variable ForwardContext::inner(std::string_view name, const Variable& x) const {
  return hook != nullptr ? hook->inner(name, x) : x;
}

}  // namespace octet
