#include "convolution.h"

#include "checks.h"

namespace octet {

void ConvolutionWindow::check() const {
  expect_window("kernel_size", kernel_size);
  expect_window("strides", strides);
  expect_window("dilation_rate", dilation_rate);
  expect_padding(padding);
}

WindowOptions ConvolutionWindow::on(const Shape& x) const {
  return {
      .strides = strides,
      .dilation = dilation_rate,
      .pads = padding.pads({x[1], x[2]}, kernel_size, strides, dilation_rate)};
}

Shape ConvolutionWindow::output_shape(const Shape& x, int64_t channels) const {
  const Pads p = on(x).pads;
  const int64_t oh = window_positions(x[1], kernel_size.h, strides.h,
                                      dilation_rate.h, p.top + p.bottom);
  const int64_t ow = window_positions(x[2], kernel_size.w, strides.w,
                                      dilation_rate.w, p.left + p.right);
  expect_window_fits(x, kernel_size, oh, ow);
  return {x[0], oh, ow, channels};
}

OnnxBuilder::Attributes ConvolutionWindow::onnx(const Shape& x,
                                                int64_t group) const {
  const Pads p = on(x).pads;
  return {{"kernel_shape", std::vector{kernel_size.h, kernel_size.w}},
          {"strides", std::vector{strides.h, strides.w}},
          {"dilations", std::vector{dilation_rate.h, dilation_rate.w}},
          {"group", group},
          {"pads", std::vector{p.top, p.left, p.bottom, p.right}}};
}

Tensor onnx_depthwise_weight(const Tensor& kernel) {
  const Shape& k = kernel.shape();
  return kernel.transposed({2, 3, 0, 1}).reshaped({k[2] * k[3], 1, k[0], k[1]});
}

}  // namespace octet
