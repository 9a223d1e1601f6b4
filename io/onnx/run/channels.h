// Tensors with one number for all, or one for each index of an axis.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// x seen as [outer, count, inner], where `count` numbers belong to.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  /// Calls body(channel, first) for each run of `inner` elements.
  template <class Body>
  void for_each(const Body& body) const {
    for (int64_t i = 0; i < outer * count; ++i) body(i % count, i * inner);
  }
};

/// How `numbers`, a scalar or a list, belong to an axis of x.
/// Throws: FormatError for a list of another length than the axis.
Channels channels_of(const NodeContext& context, const Tensor& x,
                     const Tensor& numbers, int64_t axis);

/// Throws: FormatError unless input i is one number.
template <class T>
T scalar(const NodeContext& context, size_t i) {
  const auto values = context.input(i).data<T>();
  if (values.size() != 1) {
    context.refuse("expected one number as input " + std::to_string(i) +
                   ", got " + context.input(i).shape().to_string());
  }
  return values[0];
}

/// x minus its zero point, input `zero` (0 if it is left out), for each index
/// of an axis or for all. x is int8 or uint8, the result holds integers up to
/// 255 in magnitude.
Tensor centered(const NodeContext& context, const Tensor& x, size_t zero,
                int64_t axis);

}  // namespace octet::io::run
