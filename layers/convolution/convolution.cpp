#include "convolution/convolution.h"

#include <octet/runtime/ops.h>

#include "base/checks.h"

namespace octet {

void ConvolutionWindow::check() const {
  expect_window("kernel_size", size());
  expect_window("strides", strides());
  expect_window("dilation_rate", dilation());
  check_padding();
}

Shape ConvolutionWindow::kernel(int64_t in, int64_t out) const {
  const Shape k = over_images() ? Shape{size().h, size().w, in, out}
                                : Shape{size().w, in, out};
  (void)k.size();  // throws if the size overflows
  return k;
}

Variable ConvolutionWindow::convolve(const Variable& x, const Variable& kernel,
                                     int64_t groups) const {
  if (over_images()) return conv2d(x, kernel, on(x.shape()), groups);
  return conv1d(x, kernel, on_sequence(x.shape()), groups);
}

Variable ConvolutionWindow::convolve_depthwise(const Variable& x,
                                               const Variable& kernel) const {
  if (over_images()) return depthwise_conv2d(x, kernel, on(x.shape()));
  return depthwise_conv1d(x, kernel, on_sequence(x.shape()));
}

OnnxBuilder::Attributes ConvolutionWindow::onnx(const Shape& x,
                                                int64_t group) const {
  return {{"kernel_shape", onnx_size()},
          {"strides", onnx_strides()},
          {"dilations", onnx_dilations()},
          {"group", group},
          {"pads", onnx_pads(x)}};
}

int64_t pixels(const Shape& x) { return x.slice(1, x.rank() - 1).size(); }

Arrangement onnx_convolution_weight(const Parameter& kernel) {
  if (kernel.variable.shape().rank() == 3) return {.order = {2, 1, 0}};
  return {.order = {3, 2, 0, 1}};
}

Arrangement onnx_depthwise_weight(const Parameter& kernel) {
  const Shape& k = kernel.variable.shape();
  if (k.rank() == 3) {
    return {.order = {1, 2, 0}, .joined = {k[1] * k[2], 1, k[0]}};
  }
  return {.order = {2, 3, 0, 1}, .joined = {k[2] * k[3], 1, k[0], k[1]}};
}

}  // namespace octet
