// Pooling over windows and over whole images and sequences.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/average_pooling1d.h>
#include <octet/layers/average_pooling2d.h>
#include <octet/layers/global_average_pooling1d.h>
#include <octet/layers/global_average_pooling2d.h>
#include <octet/layers/global_max_pooling1d.h>
#include <octet/layers/global_max_pooling2d.h>
#include <octet/layers/max_pooling1d.h>
#include <octet/layers/max_pooling2d.h>
#include <octet/layers/zero_padding1d.h>
#include <octet/layers/zero_padding2d.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "global_pool.h"
#include "window_attributes.h"

namespace octet::io::importing {
namespace {

WindowAttributes pool_window(const Conversion& c, const Shape& x) {
  const Sizes size = c.integers("kernel_shape");
  if (std::ssize(size) != x.rank() - 2) {
    c.refuse(fmt::format("kernel_shape must have {} numbers, got [{}]",
                         x.rank() - 2, fmt::join(size, ",")));
  }
  const WindowAttributes window = window_of(c, x, size);
  if (window.dilated()) c.refuse("dilations must be 1");
  return window;
}

/// Whether all consumers remove the spatial axes, so that pooling may drop
/// them.
bool is_flattened(const Conversion& c) {
  const auto consumers = c.graph().consumers(c.output());
  return !consumers.empty() && !c.graph().is_output(c.output()) &&
         std::ranges::all_of(consumers, [](const ImportNode* consumer) {
           return is_op(*consumer, "Flatten") || is_op(*consumer, "Squeeze") ||
                  is_op(*consumer, "Reshape");
         });
}

bool is_padded(const WindowAttributes& w) {
  const auto is_some = [](int64_t n) { return n != 0; };
  return std::ranges::any_of(w.begin, is_some) ||
         std::ranges::any_of(w.end, is_some);
}

/// Pads the image with zeros, which the means include.
Operand with_zeros(Conversion& c, const Operand& x, WindowAttributes& w) {
  const bool image = w.size.size() == 2;
  const auto layer = [&]() -> LayerHandle {
    if (!image) {
      return ZeroPadding1D({.padding = Ends(w.begin[0], w.end[0])});
    }
    return ZeroPadding2D(
        {.padding = Pads(w.begin[0], w.end[0], w.begin[1], w.end[1])});
  };
  const SymbolicTensor y = c.add(layer(), {{x.tensor}}, {}, "/pad");
  w.begin.assign(w.begin.size(), 0);
  w.end = w.begin;
  return {y, x.qparams};
}

}  // namespace

void convert_max_pool(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty()) {
    c.refuse("the output of indices is not supported");
  }
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  const WindowAttributes w = pool_window(c, in);
  if (in.rank() == 3) {
    return c.set_output(channels_first(
        c.add(MaxPooling1D({.pool_size = w.size[0],
                            .strides = w.strides[0],
                            .padding = w.padding_of_sequence(in)}),
              {x})));
  }
  c.set_output(channels_first(c.add(MaxPooling2D({.pool_size = w.over(w.size),
                                                  .strides = w.over(w.strides),
                                                  .padding = w.padding(in)}),
                                    {x})));
}

void convert_average_pool(Conversion& c) {
  Operand x = pixels_of(c, 0);
  WindowAttributes w = pool_window(c, x.tensor.shape());
  if (c.integer("count_include_pad", 0) != 0 && is_padded(w)) {
    if (c.integer("ceil_mode", 0) != 0) {
      c.refuse(
          "count_include_pad must be 0 if ceil_mode is 1: the windows would "
          "count padding only in part");
    }
    x = with_zeros(c, x, w);
  }
  const Shape in = x.tensor.shape();
  if (in.rank() == 3) {
    return c.set_output(channels_first(
        c.add(AveragePooling1D({.pool_size = w.size[0],
                                .strides = w.strides[0],
                                .padding = w.padding_of_sequence(in)}),
              {x})));
  }
  c.set_output(
      channels_first(c.add(AveragePooling2D({.pool_size = w.over(w.size),
                                             .strides = w.over(w.strides),
                                             .padding = w.padding(in)}),
                           {x})));
}

void pool_globally(Conversion& c, GlobalPool operation, bool keepdims) {
  const Operand x = pixels_of(c, 0);
  const int rank = x.tensor.shape().rank();
  const bool features = !keepdims || is_flattened(c);
  const SymbolicTensor y =
      c.add(global_pool(operation, rank - 2, !features), {x});
  if (!features) return c.set_output(channels_first(y));
  View view = view_of(y, std::array{0, 1});
  if (keepdims) view.axes.resize(static_cast<size_t>(rank));
  c.set_output(std::move(view));
}

LayerHandle global_pool(GlobalPool operation, int axes, bool keepdims) {
  if (operation == GlobalPool::mean) {
    if (axes == 1) return GlobalAveragePooling1D({.keepdims = keepdims});
    return GlobalAveragePooling2D({.keepdims = keepdims});
  }
  if (axes == 1) return GlobalMaxPooling1D({.keepdims = keepdims});
  return GlobalMaxPooling2D({.keepdims = keepdims});
}

void convert_global_average_pool(Conversion& c) {
  pool_globally(c, GlobalPool::mean, true);
}

void convert_global_max_pool(Conversion& c) {
  pool_globally(c, GlobalPool::max, true);
}

}  // namespace octet::io::importing
