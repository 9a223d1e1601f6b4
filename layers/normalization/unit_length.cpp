#include "normalization/unit_length.h"

namespace octet {

std::string emit_unit_length(EmitContext& context, const std::string& x,
                             const std::vector<int64_t>& axes, float epsilon) {
  const std::string length =
      context.node("ReduceL2", {x}, {{"axes", axes}, {"keepdims", int64_t{1}}});
  const std::string least =
      context.node("Max", {length, context.scalar("epsilon", epsilon)});
  return context.node("Div", {x, least});
}

}  // namespace octet
