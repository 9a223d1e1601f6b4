#include <octet/layers/layer.h>

namespace octet {

Variable ForwardContext::read(const Parameter& parameter) const {
  return hook != nullptr ? hook->weight(parameter) : parameter.variable;
}

Variable ForwardContext::intermediate(std::string_view name,
                                      const Variable& x) const {
  return hook != nullptr ? hook->intermediate(name, x) : x;
}

}  // namespace octet
