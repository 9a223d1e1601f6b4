// A parameter with a given gradient.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include <octet/runtime/variable.h>

#include "../support.h"

namespace octet::train {

inline Variable parameter(std::vector<float> values) {
  const auto n = static_cast<int64_t>(values.size());
  return {Tensor::of<float>({n}, std::span<const float>(values)), true};
}

/// Adds `gradient` to the gradient of `parameter` through the tape.
inline void give_gradient(const Variable& parameter,
                          const std::vector<float>& gradient) {
  const Tensor g =
      Tensor::of<float>(parameter.shape(), std::span<const float>(gradient));
  record("given", {parameter}, Tensor::scalar(0), [g](const Tensor&) {
    return std::vector{g.clone()};
  }).backward();
}

}  // namespace octet::train
