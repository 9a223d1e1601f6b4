// Conv, and convolutions as matrix products of the weights with the input
// values of the windows (im2col).
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "onnx/graph/tensors.h"
#include "operators.h"
#include "product.h"
#include "window.h"

namespace octet::io::run {
namespace {

// Maximum size of a product: output channels, output pixels, and floats of the
// windows.
constexpr int64_t kProductChannels = 128;
constexpr int64_t kProductPixels = 512;
constexpr int64_t kProductFloats = int64_t{1} << 18;

/// Sizes of a convolution of x [n,c,h,w] by w [oc,c/groups,kh,kw].
struct Convolution {
  int64_t batch = 0;
  int64_t channels = 0;
  int64_t outputs = 0;
  int64_t groups = 1;
  Windows windows;
};

// Merges the rows of the image into a single row if each window is one pixel,
// with stride 1 and without padding: the image is then the window matrix
// itself. Returns whether it did.
bool merge_rows(Windows& windows) {
  for (const Window& w : windows) {
    if (w.kernel != 1 || w.stride != 1 || w.before != 0 || w.out != w.in) {
      return false;
    }
  }
  windows[1].in = windows[1].out = windows[0].in * windows[1].in;
  windows[0].in = windows[0].out = 1;
  return true;
}

// Copies the input values of a channel in the windows of output pixels [first,
// last) to `to` [kernel,last-first]; 0 in the padding.
void copy_windows(const Windows& windows, const float* image, int64_t first,
                  int64_t last, float* to) {
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  for (int64_t k = 0; k < rows.kernel * columns.kernel; ++k) {
    const int64_t kh = k / columns.kernel, kw = k % columns.kernel;
    const Range valid_rows = rows.outputs_of(kh);
    const Range valid_columns = columns.outputs_of(kw);
    for (int64_t at = first, end = 0; at < last; at = end) {
      const int64_t oh = at / columns.out, row = oh * columns.out;
      end = std::min(row + columns.out, last);
      const bool on_image = oh >= valid_rows.first && oh < valid_rows.last;
      const int64_t left =
          on_image ? std::clamp(row + valid_columns.first, at, end) : end;
      const int64_t right = std::clamp(row + valid_columns.last, left, end);
      to = std::fill_n(to, left - at, 0.0f);
      const float* from =
          on_image ? image + rows.position(oh, kh) * columns.in : nullptr;
      for (int64_t i = left; i < right; ++i) {
        *to++ = from[columns.position(i - row, kw)];
      }
      to = std::fill_n(to, end - right, 0.0f);
    }
  }
}

// y [n,oc,oh,ow] = bias + x * w, summed as in add_product(); `bias` [oc] may be
// null.
template <class R>
void convolve(const NodeContext& context, Convolution g, const float* x,
              const float* w, const R* bias, R* y) {
  const bool merged = merge_rows(g.windows);
  const auto& [rows, columns] = g.windows;
  const int64_t image = rows.in * columns.in, plane = rows.out * columns.out;
  const int64_t depth = g.channels / g.groups;
  const int64_t kernel = rows.kernel * columns.kernel;
  const int64_t window = depth * kernel;  // number of input values
  const int64_t per_group = g.outputs / g.groups;
  const int64_t width = std::clamp<int64_t>(
      kProductFloats / std::max<int64_t>(window, 1), 1, kProductPixels);
  const int64_t blocks = (per_group + kProductChannels - 1) / kProductChannels;
  const int64_t strips = (plane + width - 1) / width;
  parallel_for(g.batch * g.groups * blocks * strips, [&](int64_t task) {
    const int64_t first = task % strips * width;
    const int64_t pixels = std::min(width, plane - first);
    const int64_t block = task / strips % blocks * kProductChannels;
    const int64_t outputs = std::min(kProductChannels, per_group - block);
    const int64_t group = task / strips / blocks % g.groups;
    const int64_t n = task / strips / blocks / g.groups;
    const int64_t oc = group * per_group + block;
    R* to = y + (n * g.outputs + oc) * plane + first;
    for (int64_t i = 0; i < outputs; ++i) {
      std::fill_n(to + i * plane, pixels, bias == nullptr ? R{} : bias[oc + i]);
    }
    const float* from = x + (n * g.channels + group * depth) * image;
    std::unique_ptr<float[]> copy;
    if (!merged) {
      copy = std::make_unique_for_overwrite<float[]>(
          static_cast<size_t>(window * pixels));
      for (int64_t c = 0; c < depth; ++c) {
        copy_windows(g.windows, from + c * image, first, first + pixels,
                     copy.get() + c * kernel * pixels);
      }
    }
    add_product(context, outputs, window, pixels, {w + oc * window, window},
                merged ? RowMajorView{from + first, image}
                       : RowMajorView{copy.get(), pixels},
                to, plane);
  });
}

Convolution convolution_of(const NodeContext& context, const Tensor& x,
                           const Tensor& weight) {
  const Sizes w = sizes_of(weight);
  Convolution g;
  if (x.shape().rank() < 3 || w.size() != sizes_of(x).size()) {
    context.refuse(
        fmt::format("image {} and weights {} must have the same rank >= 3",
                    x.shape().to_string(), dims_text(w)));
  }
  g.batch = x.shape()[0];
  g.channels = x.shape()[1];
  g.outputs = w[0];
  g.groups = context.integer("group", 1);
  if (g.channels % g.groups != 0 || g.outputs % g.groups != 0 ||
      g.channels / g.groups != w[1]) {
    context.refuse(fmt::format("weights {} do not fit {} channels in {} groups",
                               dims_text(w), g.channels, g.groups));
  }
  const Sizes kernel(w.begin() + 2, w.end());
  if (context.integers("kernel_shape", kernel) != kernel) {
    context.refuse(fmt::format("weights {} do not have kernel_shape {}",
                               dims_text(w),
                               dims_text(context.integers("kernel_shape"))));
  }
  g.windows = windows_of(context, x, kernel, Rounding::floor);
  return g;
}

// Sums of type R; int32 of integers up to 255 in magnitude.
template <class R>
Values conv(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  const Convolution g = convolution_of(context, x, w);
  Tensor y =
      context.make(output_dims(x, g.outputs, g.windows), DTypeOf<R>::value);
  const R* bias = nullptr;
  if constexpr (std::is_same_v<R, float>) bias = bias_of(context, g.outputs);
  convolve(context, g, x.f32().data(), w.f32().data(), bias,
           y.data<R>().data());
  return {y};
}

}  // namespace

const float* bias_of(const NodeContext& context, int64_t outputs) {
  if (!context.has_input(2)) return nullptr;
  const Tensor& bias = context.input(2);
  if (bias.size() != outputs) {
    context.refuse(fmt::format("bias must have {} values, got {}", outputs,
                               bias.shape().to_string()));
  }
  return bias.f32().data();
}

Operators convolution_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Conv", conv<float>},
      {"ConvTranspose", conv_transpose},
      {"octet.IntegerConv", conv<int32_t>},
  };
  return kOperators;
}

}  // namespace octet::io::run
