// Codes to numbers and back.
#include <cmath>

#include <fmt/format.h>

#include "channels.h"
#include "numbers.h"
#include "operators.h"

namespace octet::io::run {
namespace {

// The zero point of a channel: input 2, of the type of the codes.
template <class T>
std::vector<T> zero_points(const NodeContext& context, int64_t count) {
  if (!context.has_input(2)) return std::vector<T>(static_cast<size_t>(count));
  const auto zeros = context.input(2).data<T>();
  if (static_cast<int64_t>(zeros.size()) != count) {
    context.refuse(
        fmt::format("expected {} zero points like the scales, got "
                    "{}",
                    count, context.input(2).shape().to_string()));
  }
  return {zeros.begin(), zeros.end()};
}

template <class To, class From>
void quantize(const Channels& channels, const From* x, const float* scales,
              const To* zeros, To* y) {
  channels.for_each([&](int64_t c, int64_t first) {
    for (int64_t i = first; i < first + channels.inner; ++i) {
      const float codes = static_cast<float>(x[i]) / scales[c];
      y[i] = quantized<To>(codes, zeros[c]);
    }
  });
}

}  // namespace

Channels channels_of(const NodeContext& context, const Tensor& x,
                     const Tensor& numbers, int64_t axis) {
  if (numbers.shape().rank() > 1) {
    context.refuse("expected a number or a list of them, got " +
                   numbers.shape().to_string());
  }
  if (numbers.size() == 1) return {1, 1, x.size()};
  const int at = context.axis(axis, x.shape().rank());
  if (x.shape()[at] != numbers.size()) {
    context.refuse(fmt::format("expected {} numbers for axis {} of {}, got {}",
                               x.shape()[at], at, x.shape().to_string(),
                               numbers.size()));
  }
  return {x.shape().slice(0, at).size(), x.shape()[at],
          x.shape().slice(at + 1, x.shape().rank()).size()};
}

Tensor centered(const NodeContext& context, const Tensor& x, size_t zero,
                int64_t axis) {
  Tensor y = context.make(dims_of(x), DType::i32);
  visit<int8_t, uint8_t>(context, x.dtype(), [&]<class T>(T) {
    Channels channels{1, 1, x.size()};
    const T none{};
    const T* zeros = &none;
    if (context.has_input(zero)) {
      channels = channels_of(context, x, context.input(zero), axis);
      zeros = context.input(zero).data<T>().data();
    }
    const T* from = x.data<T>().data();
    int32_t* to = y.data<int32_t>().data();
    channels.for_each([&](int64_t c, int64_t first) {
      for (int64_t i = first; i < first + channels.inner; ++i) {
        to[i] = int32_t{from[i]} - int32_t{zeros[c]};
      }
    });
  });
  return y;
}

Values quantize_linear(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scales = context.input(1);
  const Channels channels =
      channels_of(context, x, scales, context.integer("axis", 1));
  const DType codes =
      context.has_input(2) ? context.input(2).dtype() : DType::u8;
  Tensor y = context.make(dims_of(x), codes);
  visit<int8_t, uint8_t>(context, codes, [&]<class To>(To) {
    const auto zeros = zero_points<To>(context, channels.count);
    visit<float, int32_t>(context, x.dtype(), [&]<class From>(From) {
      quantize(channels, x.data<From>().data(), scales.f32().data(),
               zeros.data(), y.data<To>().data());
    });
  });
  return {y};
}

Values dequantize_linear(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto scales = context.input(1).f32();
  const Channels channels =
      channels_of(context, x, context.input(1), context.integer("axis", 1));
  Tensor y = context.make(dims_of(x), DType::f32);
  visit<int8_t, uint8_t, int32_t>(context, x.dtype(), [&]<class T>(T) {
    const auto zeros = zero_points<T>(context, channels.count);
    const T* from = x.data<T>().data();
    float* to = y.f32().data();
    channels.for_each([&](int64_t c, int64_t first) {
      const auto at = static_cast<size_t>(c);
      for (int64_t i = first; i < first + channels.inner; ++i) {
        const int64_t steps = int64_t{from[i]} - int64_t{zeros[at]};
        to[i] = static_cast<float>(steps) * scales[at];
      }
    });
  });
  return {y};
}

Values dynamic_quantize_linear(const NodeContext& context) {
  const Tensor& x = context.input(0);
  float low = 0, high = 0;
  for (const float value : x.f32()) {
    low = smaller(low, value);
    high = larger(high, value);
  }
  float scale = (high - low) / 255;
  if (scale == 0) scale = 1;
  const auto zero = quantized<uint8_t>(-low / scale, 0);
  Tensor y = context.make(dims_of(x), DType::u8);
  quantize(Channels{1, 1, x.size()}, x.f32().data(), &scale, &zero,
           y.data<uint8_t>().data());
  return {y, Tensor::scalar(scale), Tensor::of<uint8_t>(Shape{}, {zero})};
}

}  // namespace octet::io::run
