#include "window.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"

namespace octet::io::run {
namespace {

constexpr int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Number of axes of the image: 1 for a signal, else 2.
size_t image_axes(const NodeContext& context, const Tensor& x) {
  const int rank = x.shape().rank();
  if (rank != 3 && rank != 4) {
    context.unsupported(
        fmt::format("input must be an image [n,c,h,w] or a signal [n,c,w], got "
                    "{}",
                    x.shape().to_string()));
  }
  return static_cast<size_t>(rank) - 2;
}

void pad_same(Window& w, bool upper) {
  w.out = divide_up(w.in, w.stride);
  const int64_t total =
      std::max<int64_t>((w.out - 1) * w.stride + w.extent() - w.in, 0);
  w.before = upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
}

void count_outputs(const NodeContext& context, Window& w, Rounding rounding) {
  const int64_t room = w.in + w.before + w.after - w.extent();
  if (room < 0) {
    context.refuse(fmt::format(
        "kernel of {} cells does not fit the image of {} with pads {} and {}",
        w.extent(), w.in, w.before, w.after));
  }
  w.out = room / w.stride + 1;
  if (rounding == Rounding::floor || room % w.stride == 0) return;
  // No window begins after the image and its leading padding.
  if (w.out * w.stride < w.in + w.before) ++w.out;
}

}  // namespace

Range Window::outputs_of(int64_t k) const {
  const int64_t start = k * dilation - before;  // position for output 0
  const int64_t first = start < 0 ? divide_up(-start, stride) : 0;
  const int64_t last = start < in ? (in - 1 - start) / stride + 1 : 0;
  return {first, std::min(last, out)};
}

Range Window::taps_of(int64_t o) const {
  const int64_t start = o * stride - before;
  const int64_t first = start < 0 ? divide_up(-start, dilation) : 0;
  const int64_t last = start < in ? (in - 1 - start) / dilation + 1 : 0;
  return {first, std::min(last, kernel)};
}

std::array<int64_t, 2> per_axis(const NodeContext& context, const Tensor& x,
                                const std::string& name, int64_t otherwise) {
  const size_t axes = image_axes(context, x);
  const Sizes list = context.integers(name, Sizes(axes, otherwise));
  if (list.size() != axes) {
    context.refuse(fmt::format("{} must have {} values for {}, got {}", name,
                               axes, x.shape().to_string(), dims_text(list)));
  }
  return {axes == 2 ? list[0] : otherwise, list.back()};
}

std::array<std::array<int64_t, 2>, 2> pads_of(const NodeContext& context,
                                              const Tensor& x) {
  const size_t axes = image_axes(context, x);
  const Sizes pads = context.integers("pads", Sizes(2 * axes, 0));
  if (pads.size() != 2 * axes) {
    context.refuse(fmt::format("must have {} pads for {}, got {}", 2 * axes,
                               x.shape().to_string(), dims_text(pads)));
  }
  if (axes == 1) return {{{0, 0}, {pads[0], pads[1]}}};
  return {{{pads[0], pads[2]}, {pads[1], pads[3]}}};
}

Windows windows_without_pads(const NodeContext& context, const Tensor& x,
                             const Sizes& kernel) {
  const size_t axes = image_axes(context, x);
  if (kernel.size() != axes) {
    context.refuse(fmt::format("kernel must have {} sizes for {}, got {}", axes,
                               x.shape().to_string(), dims_text(kernel)));
  }
  const auto strides = per_axis(context, x, "strides", 1);
  const auto dilations = per_axis(context, x, "dilations", 1);
  Windows windows;
  for (size_t i = 0; i < 2; ++i) {
    windows[i].stride = strides[i];
    windows[i].dilation = dilations[i];
  }
  for (size_t i = 0; i < axes; ++i) {
    Window& w = windows[2 - axes + i];
    w.in = x.shape()[static_cast<int>(i) + 2];
    w.kernel = kernel[i];
    if (w.kernel < 1) {
      context.refuse(fmt::format("kernel must have at least one cell, got {}",
                                 dims_text(kernel)));
    }
  }
  return windows;
}

Windows windows_of(const NodeContext& context, const Tensor& x,
                   const Sizes& kernel, Rounding rounding) {
  Windows windows = windows_without_pads(context, x, kernel);
  const std::string automatic = context.text("auto_pad", "NOTSET");
  const auto pads = pads_of(context, x);
  for (size_t i = 0; i < 2; ++i) {
    Window& w = windows[i];
    if (automatic == "SAME_UPPER" || automatic == "SAME_LOWER") {
      pad_same(w, automatic == "SAME_UPPER");
      continue;
    }
    if (automatic == "NOTSET" || automatic.empty()) {
      w.before = pads[i][0];
      w.after = pads[i][1];
    } else if (automatic != "VALID") {
      context.refuse("auto_pad must be a mode of ONNX, got '" +
                     printable(automatic) + "'");
    }
    count_outputs(context, w, rounding);
  }
  return windows;
}

Sizes output_dims(const Tensor& x, int64_t channels, const Windows& windows) {
  Sizes dims{x.shape()[0], channels, windows[0].out, windows[1].out};
  if (x.shape().rank() == 3) dims.erase(dims.begin() + 2);
  return dims;
}

}  // namespace octet::io::run
