// Parameters that are a single number or have one for each index of an axis.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// x viewed as [outer, count, inner] with `count` parameters.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  /// Calls body(channel, first) for each contiguous run of `inner` elements.
  template <class Body>
  void for_each(const Body& body) const {
    for (int64_t i = 0; i < outer * count; ++i) body(i % count, i * inner);
  }
};

/// Maps `numbers`, a scalar or a list, to an axis of x.
/// Throws: FormatError for a list whose length differs from the axis.
Channels channels_of(const NodeContext& context, const Tensor& x,
                     const Tensor& numbers, int64_t axis);

/// Returns input i. Throws: FormatError unless it is a single number.
template <class T>
T scalar(const NodeContext& context, size_t i) {
  const auto values = context.input(i).data<T>();
  if (values.size() != 1) {
    context.refuse("input " + std::to_string(i) +
                   " must be a single number, got " +
                   context.input(i).shape().to_string());
  }
  return values[0];
}

/// Subtracts the zero point, input `zero` (0 if absent), for each index of an
/// axis or for all. x is int8 or uint8; the result has integers up to 255 in
/// magnitude.
Tensor centered(const NodeContext& context, const Tensor& x, size_t zero,
                int64_t axis);

}  // namespace octet::io::run
