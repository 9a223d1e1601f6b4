#include <octet/runtime/ops.h>

#include "../autograd/node.h"

namespace octet {

Variable reshape(const Variable& x, const Shape& shape) {
  const bool nonnegative = autograd::nonnegative(autograd::expression_of(x));
  const Variable y = record("reshape", {x}, x.value().reshaped(shape), {},
                            [from = x.shape()](const Tensor& dy) {
                              return std::vector{dy.reshaped(from)};
                            });
  if (nonnegative) y.node()->mark_nonnegative();
  return y;
}

}  // namespace octet
