#include "base/window.h"

#include "base/checks.h"

namespace octet {

void Window::check_padding() const {
  expect_padding(padding_);
  if (const Ends* ends = padding1d_.given()) expect_ends("padding", *ends);
}

const Shape& Window::input(std::span<const Shape> inputs) const {
  return over_images() ? image_input(inputs) : sequence_input(inputs);
}

Pads Window::pads(const Shape& x) const {
  if (over_images()) {
    return padding_.pads({x[1], x[2]}, size_, strides_, dilation_);
  }
  return {Ends{}, padding1d_.pads(x[1], size_.w, strides_.w, dilation_.w)};
}

Shape Window::output_shape(const Shape& x, int64_t channels) const {
  const Pads p = pads(x);
  const int64_t ow = window_positions(x[-2], size_.w, strides_.w, dilation_.w,
                                      p.left + p.right);
  const int64_t oh = over_images()
                         ? window_positions(x[1], size_.h, strides_.h,
                                            dilation_.h, p.top + p.bottom)
                         : 1;
  expect_window_fits(x, size_, oh, ow);
  const Shape y = x.with(-1, channels).with(-2, ow);
  return over_images() ? y.with(1, oh) : y;
}

WindowOptions Window::on(const Shape& x) const {
  return {.strides = strides_, .dilation = dilation_, .pads = pads(x)};
}

WindowOptions1D Window::on_sequence(const Shape& x) const {
  const Pads p = pads(x);
  return {
      .stride = strides_.w, .dilation = dilation_.w, .pads = {p.left, p.right}};
}

OnnxBuilder::Attribute Window::onnx_pads(const Shape& x) const {
  const Pads p = pads(x);
  if (!over_images()) return std::vector{p.left, p.right};
  return std::vector{p.top, p.left, p.bottom, p.right};
}

std::vector<int64_t> Window::by_axis(Size2 s) const {
  if (!over_images()) return {s.w};
  return {s.h, s.w};
}

}  // namespace octet
