// Conv, and convolutions as products of the weights with the input values of
// their windows.
#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "../tensors.h"
#include "convolve.h"
#include "operators.h"
#include "product.h"

namespace octet::io::run {
namespace {

constexpr int64_t kOutputs = 128;            // channels of a product
constexpr int64_t kCells = 512;              // pixels of a product
constexpr int64_t kSeen = int64_t{1} << 18;  // floats copied at a time

// Whether each window is a single cell without stride; joins the rows if so.
bool join_rows(Windows& windows) {
  for (const Window& w : windows) {
    if (w.kernel != 1 || w.stride != 1 || w.before != 0 || w.out != w.in) {
      return false;
    }
  }
  windows[1].in = windows[1].out = windows[0].in * windows[1].in;
  windows[0].in = windows[0].out = 1;
  return true;
}

// to [kernel][last - first]: the window values of outputs first to last in one
// channel.
void copy_seen(const Windows& windows, const float* image, int64_t first,
               int64_t last, float* to) {
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  for (int64_t k = 0; k < rows.kernel * columns.kernel; ++k) {
    const int64_t kh = k / columns.kernel, kw = k % columns.kernel;
    const Range down = rows.outputs_of(kh), along = columns.outputs_of(kw);
    for (int64_t at = first, end = 0; at < last; at = end) {
      const int64_t oh = at / columns.out, row = oh * columns.out;
      end = std::min(row + columns.out, last);
      const bool on_image = oh >= down.first && oh < down.last;
      const int64_t left =
          on_image ? std::clamp(row + along.first, at, end) : end;
      const int64_t right = std::clamp(row + along.last, left, end);
      to = std::fill_n(to, left - at, 0.0f);
      const float* from = image + rows.position(oh, kh) * columns.in;
      for (int64_t i = left; i < right; ++i) {
        *to++ = from[columns.position(i - row, kw)];
      }
      to = std::fill_n(to, end - right, 0.0f);
    }
  }
}

}  // namespace

template <class R>
void convolve(const NodeContext& context, Convolution g, const float* x,
              const float* w, const R* bias, R* y) {
  const bool joined = join_rows(g.windows);
  const auto& [rows, columns] = g.windows;
  const int64_t image = rows.in * columns.in, plane = rows.out * columns.out;
  const int64_t depth = g.channels / g.groups;
  const int64_t kernel = rows.kernel * columns.kernel;
  const int64_t seen = depth * kernel;  // values in a window
  const int64_t per_group = g.outputs / g.groups;
  const int64_t width =
      std::clamp<int64_t>(kSeen / std::max<int64_t>(seen, 1), 1, kCells);
  const int64_t blocks = (per_group + kOutputs - 1) / kOutputs;
  const int64_t strips = (plane + width - 1) / width;
  parallel_for(g.batch * g.groups * blocks * strips, [&](int64_t task) {
    const int64_t first = task % strips * width;
    const int64_t cells = std::min(width, plane - first);
    const int64_t block = task / strips % blocks * kOutputs;
    const int64_t outputs = std::min(kOutputs, per_group - block);
    const int64_t group = task / strips / blocks % g.groups;
    const int64_t n = task / strips / blocks / g.groups;
    const int64_t oc = group * per_group + block;
    R* to = y + (n * g.outputs + oc) * plane + first;
    for (int64_t i = 0; i < outputs; ++i) {
      std::fill_n(to + i * plane, cells, bias == nullptr ? R{} : bias[oc + i]);
    }
    const float* from = x + (n * g.channels + group * depth) * image;
    std::unique_ptr<float[]> copy;
    if (!joined) {
      copy = std::make_unique_for_overwrite<float[]>(
          static_cast<size_t>(seen * cells));
      for (int64_t c = 0; c < depth; ++c) {
        copy_seen(g.windows, from + c * image, first, first + cells,
                  copy.get() + c * kernel * cells);
      }
    }
    add_product(context, outputs, seen, cells, {w + oc * seen, seen},
                joined ? RowMajorView{from + first, image}
                       : RowMajorView{copy.get(), cells},
                to, plane);
  });
}

template void convolve<float>(const NodeContext&, Convolution, const float*,
                              const float*, const float*, float*);
template void convolve<int32_t>(const NodeContext&, Convolution, const float*,
                                const float*, const int32_t*, int32_t*);

Convolution convolution_of(const NodeContext& context, const Tensor& x,
                           const Tensor& weight) {
  const Dims w = dims_of(weight);
  Convolution g;
  if (x.shape().rank() < 3 || w.size() != dims_of(x).size()) {
    context.refuse(
        fmt::format("weights must have the image's rank, got {} and {}",
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
  const Dims kernel(w.begin() + 2, w.end());
  if (context.integers("kernel_shape", kernel) != kernel) {
    context.refuse(fmt::format("weights {} do not have kernel_shape {}",
                               dims_text(w),
                               dims_text(context.integers("kernel_shape"))));
  }
  g.windows = windows_of(context, x, kernel, Rounding::floor);
  return g;
}

const float* bias_of(const NodeContext& context, int64_t outputs) {
  if (!context.has_input(2)) return nullptr;
  const Tensor& bias = context.input(2);
  if (bias.size() != outputs) {
    context.refuse(fmt::format("bias must have {} values, got {}", outputs,
                               bias.shape().to_string()));
  }
  return bias.f32().data();
}

Values conv(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  const Convolution g = convolution_of(context, x, w);
  const float* bias = bias_of(context, g.outputs);
  Tensor y = context.make(output_dims(x, g.outputs, g.windows), DType::f32);
  convolve(context, g, x.f32().data(), w.f32().data(), bias, y.f32().data());
  return {y};
}

}  // namespace octet::io::run
