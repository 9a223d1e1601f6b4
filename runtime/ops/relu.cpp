#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "autograd/node.h"

namespace octet {

Variable relu(const Variable& x) { return relu(x, autograd::kInfinity); }

Variable relu(const Variable& x, float max_value) {
  if (!(max_value > 0)) {
    throw ValueError(
        "out_of_range", "relu",
        fmt::format("max_value must be positive, got {}", max_value));
  }
  autograd::Expression e = autograd::extendable(x);
  e.low = std::max(e.low, 0.0f);
  e.high = std::min(e.high, max_value);
  if (e.second) e.buffer = std::make_shared<Tensor>();
  return autograd::wrap("relu", std::move(e));
}

}  // namespace octet
