// Pooling over windows.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/ops.h>
#include <octet/layers/pooling.h>
#include <octet/runtime/error.h>

#include "converters.h"
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
  if (c.op() == "AveragePool" && window.dilated()) {
    c.refuse("dilations must be 1");
  }
  return window;
}

bool is_padded(const WindowAttributes& w) {
  const auto is_some = [](int64_t n) { return n != 0; };
  return std::ranges::any_of(w.begin, is_some) ||
         std::ranges::any_of(w.end, is_some);
}

/// Pads the image with zeros, which the means include.
Operand with_zeros(Conversion& c, const Operand& x, WindowAttributes& w) {
  std::vector<Ends> widths{{}};
  for (size_t i = 0; i < w.size.size(); ++i) {
    widths.emplace_back(w.begin[i], w.end[i]);
  }
  widths.emplace_back();
  w.begin.assign(w.begin.size(), 0);
  w.end = w.begin;
  return {c.named(pad(x.tensor, widths), {{x.tensor}}, "/pad"), x.qparams};
}

template <class Options>
Options options_of(const WindowAttributes& w, const Shape& x) {
  Options o;
  if constexpr (requires { o.strides.h; }) {
    o.pool_size = w.over(w.size);
    o.strides = w.over(w.strides);
    o.padding = w.padding(x);
    if constexpr (requires { o.dilation_rate; }) {
      o.dilation_rate = w.over(w.dilations);
    }
  } else {
    o.pool_size = w.size[0];
    o.strides = w.strides[0];
    o.padding = w.padding_of_sequence(x);
    if constexpr (requires { o.dilation_rate; }) {
      o.dilation_rate = w.dilations[0];
    }
  }
  return o;
}

}  // namespace

void convert_max_pool(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty()) {
    c.refuse("the output of indices is not supported");
  }
  const Operand x = pixels_of(c, 0);
  const Shape& in = x.tensor.shape();
  const WindowAttributes w = pool_window(c, in);
  const LayerHandle layer =
      in.rank() == 3
          ? LayerHandle(MaxPooling1D(options_of<MaxPooling1DOptions>(w, in)))
          : MaxPooling2D(options_of<MaxPooling2DOptions>(w, in));
  c.set_output(channels_first(c.add(layer, {x})));
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
  const Shape& in = x.tensor.shape();
  const LayerHandle layer =
      in.rank() == 3
          ? LayerHandle(
                AveragePooling1D(options_of<AveragePooling1DOptions>(w, in)))
          : AveragePooling2D(options_of<AveragePooling2DOptions>(w, in));
  c.set_output(channels_first(c.add(layer, {x})));
}

}  // namespace octet::io::importing
