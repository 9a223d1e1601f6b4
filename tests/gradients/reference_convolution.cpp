#include "reference.h"

namespace octet::reference {
namespace {

// Calls body(n, i, j, h, w, p, q) for each output i, j and each pixel h, w of
// the image under cell p, q of its window.
template <class Body>
void for_each_cell(const Shape& image, const Shape& output, const Shape& kernel,
                   const WindowOptions& o, Body body) {
  for (int64_t n = 0; n < image[0]; ++n)
    for (int64_t i = 0; i < output[1]; ++i)
      for (int64_t j = 0; j < output[2]; ++j)
        for (int64_t p = 0; p < kernel[0]; ++p)
          for (int64_t q = 0; q < kernel[1]; ++q) {
            const int64_t h = i * o.strides.h + p * o.dilation.h - o.pads.top;
            const int64_t w = j * o.strides.w + q * o.dilation.w - o.pads.left;
            if (h < 0 || h >= image[1] || w < 0 || w >= image[2]) continue;
            body(n, i, j, h, w, p, q);
          }
}

int64_t at_nhwc(const Shape& s, int64_t a, int64_t b, int64_t c, int64_t d) {
  return ((a * s[1] + b) * s[2] + c) * s[3] + d;
}

Shape output_of(const Shape& x, const Shape& kernel, const WindowOptions& o,
                int64_t channels) {
  return {x[0],
          window_positions(x[1], kernel[0], o.strides.h, o.dilation.h,
                           o.pads.top + o.pads.bottom),
          window_positions(x[2], kernel[1], o.strides.w, o.dilation.w,
                           o.pads.left + o.pads.right),
          channels};
}

}  // namespace

Array conv2d(const Array& x, const Array& kernel, const WindowOptions& o,
             int64_t groups) {
  const Shape& ks = kernel.shape;
  const int64_t outputs = ks[3] / groups;
  Array y(output_of(x.shape, ks, o, ks[3]));
  for_each_cell(x.shape, y.shape, ks, o,
                [&](auto n, auto i, auto j, auto h, auto w, auto p, auto q) {
                  for (int64_t k = 0; k < ks[3]; ++k)
                    for (int64_t c = 0; c < ks[2]; ++c) {
                      const int64_t channel = k / outputs * ks[2] + c;
                      y[at_nhwc(y.shape, n, i, j, k)] +=
                          x[at_nhwc(x.shape, n, h, w, channel)] *
                          kernel[at_nhwc(ks, p, q, c, k)];
                    }
                });
  return y;
}

Array conv2d_transpose(const Array& x, const Array& kernel, Size2 output,
                       const WindowOptions& o, int64_t groups) {
  const Shape& ks = kernel.shape;
  const int64_t inputs = ks[3] / groups;
  Array y({x.shape[0], output.h, output.w, ks[2] * groups});
  for_each_cell(y.shape, x.shape, ks, o,
                [&](auto n, auto i, auto j, auto h, auto w, auto p, auto q) {
                  for (int64_t k = 0; k < ks[2]; ++k)
                    for (int64_t c = 0; c < ks[3]; ++c) {
                      const int64_t channel = c / inputs * ks[2] + k;
                      y[at_nhwc(y.shape, n, h, w, channel)] +=
                          x[at_nhwc(x.shape, n, i, j, c)] *
                          kernel[at_nhwc(ks, p, q, k, c)];
                    }
                });
  return y;
}

Array depthwise_conv2d(const Array& x, const Array& kernel,
                       const WindowOptions& o) {
  const Shape& ks = kernel.shape;
  Array y(output_of(x.shape, ks, o, ks[2] * ks[3]));
  for_each_cell(x.shape, y.shape, ks, o,
                [&](auto n, auto i, auto j, auto h, auto w, auto p, auto q) {
                  for (int64_t c = 0; c < ks[2]; ++c)
                    for (int64_t m = 0; m < ks[3]; ++m) {
                      y[at_nhwc(y.shape, n, i, j, c * ks[3] + m)] +=
                          x[at_nhwc(x.shape, n, h, w, c)] *
                          kernel[at_nhwc(ks, p, q, c, m)];
                    }
                });
  return y;
}

}  // namespace octet::reference
