// Conv, and the sizes of all convolutions.
#include <fmt/format.h>

#include "../tensors.h"
#include "convolve.h"
#include "operators.h"

namespace octet::io::run {

Convolution convolution_of(const NodeContext& context, const Tensor& x,
                           const Tensor& weight) {
  const Dims w = dims_of(weight);
  Convolution g;
  if (x.shape().rank() < 3 || w.size() != dims_of(x).size()) {
    context.refuse(
        fmt::format("expected an image and weights of its rank, got "
                    "{} and {}",
                    x.shape().to_string(), dims_text(w)));
  }
  g.batch = x.shape()[0];
  g.channels = x.shape()[1];
  g.outputs = w[0];
  g.groups = context.integer("group", 1);
  if (g.channels % g.groups != 0 || g.outputs % g.groups != 0 ||
      g.channels / g.groups != w[1]) {
    context.refuse(
        fmt::format("expected weights for {} channels in {} groups, got {}",
                    g.channels, g.groups, dims_text(w)));
  }
  const Dims kernel(w.begin() + 2, w.end());
  if (context.integers("kernel_shape", kernel) != kernel) {
    context.refuse(fmt::format("expected weights of kernel_shape {}, got {}",
                               dims_text(context.integers("kernel_shape")),
                               dims_text(w)));
  }
  g.windows = windows_of(context, x, kernel, Rounding::floor);
  return g;
}

const float* bias_of(const NodeContext& context, int64_t outputs) {
  if (!context.has_input(2)) return nullptr;
  const Tensor& bias = context.input(2);
  if (bias.size() != outputs) {
    context.refuse(fmt::format("expected a bias of {} values, got {}", outputs,
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
