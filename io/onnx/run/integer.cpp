// Operators on quantized values: sums are int32, modulo 2^32.
#include <fmt/format.h>

#include "channels.h"
#include "convolve.h"
#include "numbers.h"
#include "operators.h"
#include "product.h"

namespace octet::io::run {
namespace {

// Indices of the inputs with scales and zero point.
struct Scales {
  size_t a, b, y, zero;
};

// Requantizes sums; input scales.b has a single scale, or one for each index of
// an axis.
Tensor requantized(const NodeContext& context, const Tensor& sums,
                   const Scales& inputs, int64_t axis) {
  const double a = scalar<float>(context, inputs.a);
  const double y = scalar<float>(context, inputs.y);
  const Tensor& b = context.input(inputs.b);
  const Channels channels = channels_of(context, sums, b, axis);
  const DType codes = context.input(inputs.zero).dtype();
  Tensor result = context.make(dims_of(sums), codes);
  visit<int8_t, uint8_t>(context, codes, [&]<class T>(T) {
    const T zero = scalar<T>(context, inputs.zero);
    const int32_t* from = sums.data<int32_t>().data();
    T* to = result.data<T>().data();
    channels.for_each([&](int64_t c, int64_t first) {
      const double scale = a * b.f32()[static_cast<size_t>(c)] / y;
      for (int64_t i = first; i < first + channels.inner; ++i) {
        to[i] = quantized<T>(from[i] * scale, zero);
      }
    });
  });
  return result;
}

Tensor integer_convolution(const NodeContext& context, size_t x, size_t x_zero,
                           size_t w, size_t w_zero, const int32_t* bias) {
  // The zero point of the image is always a single number.
  if (context.has_input(x_zero) && context.input(x_zero).size() != 1) {
    context.refuse("image must have a single zero point, got " +
                   context.input(x_zero).shape().to_string());
  }
  const Tensor image = centered(context, context.input(x), x_zero, 1);
  const Tensor weight = centered(context, context.input(w), w_zero, 0);
  const Convolution g = convolution_of(context, image, weight);
  Tensor y = context.make(output_dims(image, g.outputs, g.windows), DType::i32);
  convolve(context, g, image.f32().data(), weight.f32().data(), bias,
           y.data<int32_t>().data());
  return y;
}

Tensor integer_product(const NodeContext& context, size_t a, size_t a_zero,
                       size_t b, size_t b_zero) {
  const Tensor left = centered(context, context.input(a), a_zero, -2);
  const Tensor right = centered(context, context.input(b), b_zero, -1);
  return multiply_quantized(context, left, right);
}

}  // namespace

Values conv_integer(const NodeContext& context) {
  return {integer_convolution(context, 0, 2, 1, 3, nullptr)};
}

Values matmul_integer(const NodeContext& context) {
  return {integer_product(context, 0, 2, 1, 3)};
}

// Inputs: x, its scale and zero point; the same for w and y; bias.
Values qlinear_conv(const NodeContext& context) {
  const int32_t* bias = nullptr;
  if (context.has_input(8)) {
    const Tensor& b = context.input(8);
    const Tensor& w = context.input(3);
    if (w.shape().rank() == 0 || b.size() != w.shape()[0]) {
      context.refuse(fmt::format("bias {} does not fit weights {}",
                                 b.shape().to_string(), w.shape().to_string()));
    }
    bias = b.data<int32_t>().data();
  }
  const Tensor sums = integer_convolution(context, 0, 2, 3, 5, bias);
  return {requantized(context, sums, {.a = 1, .b = 4, .y = 6, .zero = 7}, 1)};
}

// Inputs: a, its scale and zero point; the same for b and y.
Values qlinear_matmul(const NodeContext& context) {
  const Tensor sums = integer_product(context, 0, 2, 3, 5);
  return {requantized(context, sums, {.a = 1, .b = 4, .y = 6, .zero = 7}, -1)};
}

}  // namespace octet::io::run
