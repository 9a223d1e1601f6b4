#include <octet/runtime/ops.h>

namespace octet {

Variable reshape(const Variable& x, const Shape& shape) {
  return record("reshape", {x}, x.value().reshaped(shape), {},
                [from = x.shape()](const Tensor& dy) {
                  return std::vector{dy.reshaped(from)};
                });
}

}  // namespace octet
