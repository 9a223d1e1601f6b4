#include <octet/runtime/ops.h>

#include "autograd/node.h"
#include "inference/trace.h"
#include "tensor/layouts.h"

namespace octet {

Variable reshape(const Variable& x, const Shape& shape) {
  const bool nonnegative = autograd::nonnegative(autograd::expression_of(x));
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{.op = "reshape",
                               .inputs = {x},
                               .shape = reshaped(x.shape(), shape),
                               .nonnegative = nonnegative};
  });
  if (traced) return traced;
  const Variable y = record("reshape", {x}, x.value().reshaped(shape), {},
                            [from = x.shape()](const Tensor& dy) {
                              return std::vector{dy.reshaped(from)};
                            });
  if (nonnegative) y.node()->mark_nonnegative();
  return y;
}

}  // namespace octet
