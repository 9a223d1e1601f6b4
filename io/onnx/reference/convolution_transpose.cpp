// ConvTranspose: each input pixel adds its kernel to the result.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/runtime/parallel.h>

#include "deadline.h"
#include "onnx/graph/tensors.h"
#include "operators.h"
#include "window.h"

namespace octet::io::run {
namespace {

// Sets pads that reduce `full` cells to `size`, if there are more.
void pad_to(Window& w, int64_t full, int64_t size, bool upper) {
  const int64_t total = std::max<int64_t>(full - size, 0);
  w.in = size;
  w.before = upper ? total / 2 : total - total / 2;
  w.after = total - w.before;
}

// The attribute output_shape, or zeros.
std::array<int64_t, 2> stated_sizes(const NodeContext& context,
                                    const Tensor& x) {
  const auto sizes = per_axis(context, x, "output_shape", 0);
  for (const int64_t size : sizes) {
    if (size >= 0 && size <= kMostBytes) continue;
    context.refuse(fmt::format("output_shape must be positive, got {}", size));
  }
  return sizes;
}

// Windows of the convolution from the result to the image: `in` is the result's
// size, `out` the image's.
Windows transposed_windows(const NodeContext& context, const Tensor& x,
                           const Sizes& kernel) {
  Windows windows = windows_without_pads(context, x, kernel);
  const std::string automatic = context.text("auto_pad", "NOTSET");
  const bool upper = automatic == "SAME_UPPER";
  const auto extra = per_axis(context, x, "output_padding", 0);
  const auto stated = stated_sizes(context, x);
  const auto pads = pads_of(context, x);
  for (size_t i = x.shape().rank() == 3 ? 1 : 0; i < 2; ++i) {
    Window& w = windows[i];
    w.out = w.in;
    const int64_t full = (w.out - 1) * w.stride + extra[i] + w.extent();
    if (context.has_attribute("output_shape")) {
      pad_to(w, full, stated[i], upper);
    } else if (automatic.starts_with("SAME")) {
      pad_to(w, full, w.out * w.stride, upper);
    } else {
      if (automatic != "VALID") w.before = pads[i][0];
      if (automatic != "VALID") w.after = pads[i][1];
      w.in = full - w.before - w.after;
    }
    if (w.in < 1 || w.out < 1) {
      context.refuse(
          fmt::format("result must have at least one cell, got {} from {}",
                      std::min(w.in, w.out), x.shape().to_string()));
    }
  }
  return windows;
}

// Adds a channel of the image to a channel of the result.
void add_channel(const Windows& windows, const float* x, const float* w,
                 float* y, DeadlineCheck& pace) {
  const Window& rows = windows[0];
  const Window& columns = windows[1];
  for (int64_t kh = 0; kh < rows.kernel; ++kh) {
    const Range down = rows.outputs_of(kh);
    for (int64_t kw = 0; kw < columns.kernel; ++kw) {
      const Range along = columns.outputs_of(kw);
      pace.add(1 + down.size() * along.size());
      if (along.size() == 0) continue;
      const float scale = w[kh * columns.kernel + kw];
      for (int64_t h = down.first; h < down.last; ++h) {
        const float* from = x + h * columns.out + along.first;
        float* to = y + rows.position(h, kh) * columns.in +
                    columns.position(along.first, kw);
        for (int64_t i = 0; i < along.size(); ++i) {
          to[i * columns.stride] += scale * from[i];
        }
      }
    }
  }
}

void check_weights(const NodeContext& context, const Tensor& x,
                   const Tensor& w) {
  const int64_t groups = context.integer("group", 1);
  if (x.shape().rank() < 3 || w.shape().rank() != x.shape().rank() ||
      w.shape()[0] != x.shape()[1] || w.shape()[0] % groups != 0) {
    context.refuse(fmt::format("weights {} do not fit {} in {} groups",
                               w.shape().to_string(), x.shape().to_string(),
                               groups));
  }
}

}  // namespace

// x [n,c,h,w], w [c,oc/groups,kh,kw].
Values conv_transpose(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& w = context.input(1);
  check_weights(context, x, w);
  const Sizes weights = sizes_of(w);
  const Windows windows =
      transposed_windows(context, x, Sizes(weights.begin() + 2, weights.end()));
  const int64_t groups = context.integer("group", 1);
  const int64_t channels = weights[0], per_group = weights[1];
  const int64_t depth = channels / groups;
  const int64_t outputs = per_group * groups;
  const float* bias = bias_of(context, outputs);
  Sizes dims{x.shape()[0], outputs, windows[0].in, windows[1].in};
  if (x.shape().rank() == 3) dims.erase(dims.begin() + 2);
  Tensor y = context.make(dims, DType::f32);
  const int64_t image = windows[0].out * windows[1].out;
  const int64_t plane = windows[0].in * windows[1].in;
  const int64_t kernel = windows[0].kernel * windows[1].kernel;
  const float* from = x.f32().data();
  const float* weight = w.f32().data();
  float* to = y.f32().data();
  parallel_for(x.shape()[0] * outputs, [&](int64_t task) {
    const int64_t n = task / outputs, oc = task % outputs;
    const int64_t group = oc / per_group;
    DeadlineCheck pace(context);
    std::fill_n(to + task * plane, plane, bias == nullptr ? 0.0f : bias[oc]);
    for (int64_t c = group * depth; c < (group + 1) * depth; ++c) {
      add_channel(windows, from + (n * channels + c) * image,
                  weight + (c * per_group + oc % per_group) * kernel,
                  to + task * plane, pace);
    }
  });
  return {y};
}

}  // namespace octet::io::run
