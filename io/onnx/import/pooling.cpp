// Pooling over windows.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/layers/average_pooling1d.h>
#include <octet/layers/average_pooling2d.h>
#include <octet/layers/max_pooling1d.h>
#include <octet/layers/max_pooling2d.h>
#include <octet/layers/ops.h>
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
  if (window.dilated()) c.refuse("dilations must be 1");
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

template <class Over1D, class Over2D>
ImportedValue pooled(Conversion& c, const Operand& x,
                     const WindowAttributes& w) {
  const Shape& in = x.tensor.shape();
  if (in.rank() == 3) {
    return channels_first(c.add(Over1D({.pool_size = w.size[0],
                                        .strides = w.strides[0],
                                        .padding = w.padding_of_sequence(in)}),
                                {x}));
  }
  return channels_first(c.add(Over2D({.pool_size = w.over(w.size),
                                      .strides = w.over(w.strides),
                                      .padding = w.padding(in)}),
                              {x}));
}

}  // namespace

void convert_max_pool(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty()) {
    c.refuse("the output of indices is not supported");
  }
  const Operand x = pixels_of(c, 0);
  c.set_output(pooled<MaxPooling1D, MaxPooling2D>(
      c, x, pool_window(c, x.tensor.shape())));
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
  c.set_output(pooled<AveragePooling1D, AveragePooling2D>(c, x, w));
}

}  // namespace octet::io::importing
