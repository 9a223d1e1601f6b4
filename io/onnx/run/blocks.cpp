// DepthToSpace, SpaceToDepth, Tile and Trilu.
#include <fmt/format.h>

#include "../tensors.h"
#include "channels.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

// Sizes of an image and its b by b blocks.
struct Blocks {
  int64_t n, c, h, w, b;
};

Blocks blocks_of(const NodeContext& context, const Tensor& x) {
  const int64_t b = context.integer("blocksize", 0);
  if (x.shape().rank() != 4 || b < 1) {
    context.refuse(
        fmt::format("input must be [n,c,h,w] with a blocksize >= 1, got {} and "
                    "{}",
                    x.shape().to_string(), b));
  }
  return {x.shape()[0], x.shape()[1], x.shape()[2], x.shape()[3], b};
}

}  // namespace

Values depth_to_space(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto [n, c, h, w, b] = blocks_of(context, x);
  const std::string mode = context.text("mode", "DCR");
  if (c % (b * b) != 0 || (mode != "DCR" && mode != "CRD")) {
    context.refuse(
        fmt::format("channels must be a multiple of {} and mode DCR or CRD, "
                    "got {} and '{}'",
                    b * b, c, printable(mode)));
  }
  const int64_t depth = c / (b * b), plane = h * w;
  // DCR orders channels by block, then depth; CRD by depth, then block.
  const bool depth_last = mode == "DCR";
  const int64_t channel = depth_last ? plane : b * b * plane;
  const int64_t cell = depth_last ? depth * plane : plane;
  const Tensor y = strided_copy(context, x, {n, depth, h, b, w, b},
                                {c * plane, channel, w, b * cell, 1, cell});
  return {context.reshaped(y, {n, depth, h * b, w * b})};
}

Values space_to_depth(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto [n, c, h, w, b] = blocks_of(context, x);
  const std::string mode = context.text("mode", "DCR");
  if (h % b != 0 || w % b != 0 || (mode != "DCR" && mode != "CRD")) {
    context.refuse(fmt::format(
        "image sizes must be multiples of {} and mode DCR or CRD, got {} and "
        "'{}'",
        b, x.shape().to_string(), printable(mode)));
  }
  const Tensor y = mode == "DCR"
                       ? strided_copy(context, x, {n, b, b, c, h / b, w / b},
                                      {c * h * w, w, 1, h * w, b * w, b})
                       : strided_copy(context, x, {n, c, b, b, h / b, w / b},
                                      {c * h * w, h * w, w, 1, b * w, b});
  return {context.reshaped(y, {n, b * b * c, h / b, w / b})};
}

Values tile(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Dims own = dims_of(x), repeats = context.integers_of(1);
  if (repeats.size() != own.size()) {
    context.refuse(fmt::format("must have {} repeats, got {}", own.size(),
                               dims_text(repeats)));
  }
  Dims dims = own;
  for (size_t d = 0; d < own.size(); ++d) {
    if (repeats[d] < 0 ||
        __builtin_mul_overflow(own[d], repeats[d], &dims[d])) {
      context.refuse("repeats are negative or too large: " +
                     dims_text(repeats));
    }
  }
  const Dims strides = strides_of(own);
  Tensor y = context.make(dims, x.dtype());
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (int64_t i = 0; i < y.size(); ++i) {
      int64_t rest = i, at = 0;
      for (size_t d = dims.size(); d-- > 0;) {
        at += rest % dims[d] % own[d] * strides[d];
        rest /= dims[d];
      }
      to[i] = from[at];
    }
  });
  return {y};
}

// Keeps a triangle of each matrix: columns from row + k on, or up to row + k.
Values trilu(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const int rank = x.shape().rank();
  if (rank < 2) {
    context.refuse("input must be matrices, got " + x.shape().to_string());
  }
  const bool upper = context.integer("upper", 1) != 0;
  const int64_t k = context.has_input(1) ? scalar<int64_t>(context, 1) : 0;
  const int64_t rows = x.shape()[rank - 2], columns = x.shape()[rank - 1];
  Tensor y = context.make(dims_of(x), x.dtype());
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (int64_t i = 0; i < y.size(); ++i) {
      const int64_t right = i % columns - i / columns % rows;
      to[i] = (upper ? right >= k : right <= k) ? from[i] : T{};
    }
  });
  return {y};
}

}  // namespace octet::io::run
