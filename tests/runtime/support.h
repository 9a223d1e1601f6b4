#pragma once

#include <vector>

#include <octet/runtime/variable.h>

namespace octet {

/// The sum of all elements, written as a user would write an op: a loss whose
/// gradient is 1 everywhere.
inline Variable sum(const Variable& x) {
  float total = 0;
  for (const float v : x.value().f32()) total += v;
  return record("sum", {x}, Tensor::scalar(total),
                [shape = x.shape()](const Tensor& dy) {
                  return std::vector{Tensor::full(shape, dy.item())};
                });
}

}  // namespace octet
