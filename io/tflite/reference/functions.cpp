// Functions of one tensor.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "int16_tables.h"
#include "node.h"

namespace octet::io::tflite {
namespace {

template <class Float, class Int>
Tensor mapped_by(const Node& node, const Float& of_float, const Int& of_int) {
  const Tensor& x = node.input(0);
  Tensor y = Tensor::zeros(x.shape(), x.dtype());
  if (!node.quantized()) {
    std::ranges::transform(x.f32(), y.f32().begin(), of_float);
    return y;
  }
  const NodeQuant out = node.output_quant();
  by_integer(x, [&]<class T>(T) {
    const auto from = x.data<T>();
    const auto to = y.data<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      to[i] = clamped<T>(of_int(from[i]), out.low, out.high);
    }
  });
  return y;
}

// x * scale as a fixed-point number with `integer_bits`.
struct FunctionInput {
  FixedFactor factor;
  int radius = 0;
};
FunctionInput function_input(const Node& node, int integer_bits) {
  if (!node.quantized()) return {};
  const double scale = double{node.quant(0).scale} *
                       static_cast<double>(int64_t{1} << (31 - integer_bits));
  FunctionInput input{node.factor(scale)};
  input.radius = input_radius(integer_bits, input.factor.shift);
  return input;
}

bool has_int16(const Node& node) { return node.input(0).dtype() == DType::i16; }

// A sigmoid function with 4 integer bits and `output_bits` fractional ones.
template <class Float>
Tensor sigmoid_by(const Node& node, const Float& of_float,
                  int32_t (*function)(int32_t, int), int output_bits,
                  int zero_point) {
  constexpr int kIntegerBits = 4;
  const FunctionInput input = function_input(node, kIntegerBits);
  const int32_t zero = node.quant(0).zero_point;
  return mapped_by(node, of_float, [&](int32_t q) {
    const int32_t x = q - zero;
    if (x <= -input.radius) return -128;
    if (x >= input.radius) return 127;
    const int32_t y = function(node.scaled(x, input.factor), kIntegerBits);
    return rounding_shift(y, 31 - output_bits) + zero_point;
  });
}

Tensor sigmoid16_by(const Node& node,
                    int16_t (*function)(int16_t, const SigmoidInput&),
                    int largest_shift) {
  const SigmoidInput input = sigmoid_input(node.quant(0).scale, largest_shift);
  const Tensor& x = node.input(0);
  Tensor y = Tensor::zeros(x.shape(), DType::i16);
  std::ranges::transform(x.data<int16_t>(), y.data<int16_t>().begin(),
                         [&](int16_t q) { return function(q, input); });
  return y;
}

// 1 / x for the sum of exponentials x with 12 integer bits.
struct Inverse {
  int32_t value;       // with 31 fractional bits
  int bits_over_unit;  // of x
};
Inverse inverse_of(int32_t x) {
  constexpr int kSumBits = 12;
  const int headroom = std::countl_zero(static_cast<uint32_t>(x));
  const auto rest = static_cast<int32_t>(
      (static_cast<uint32_t>(x) << headroom) - (uint32_t{1} << 31));
  return {inverse_of_one_plus(rest), kSumBits - headroom};
}

void softmax_row(std::span<const int8_t> x, std::span<int8_t> y,
                 const FunctionInput& input) {
  constexpr int kDiffBits = 5;
  const int32_t top = *std::ranges::max_element(x);
  const auto exponential = [&](int8_t q) {
    const int32_t difference =
        high_product(static_cast<int32_t>(static_cast<uint32_t>(q - top)
                                          << input.factor.shift),
                     input.factor.multiplier);
    return exp_of_negative(difference, kDiffBits);
  };
  int32_t sum = 0;
  for (const int8_t q : x) {
    if (q - top >= -input.radius) sum += rounding_shift(exponential(q), 12);
  }
  const Inverse inverse = inverse_of(sum);
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] - top < -input.radius) {
      y[i] = -128;
      continue;
    }
    const int32_t value =
        rounding_shift(high_product(inverse.value, exponential(x[i])),
                       inverse.bits_over_unit + 31 - 8);
    y[i] = clamped<int8_t>(value - 128, -128, 127);
  }
}

}  // namespace

Tensor run_softmax(const Node& node) {
  const Tensor& x = node.input(0);
  const float beta = node.options<schema::SoftmaxOptionsT>().beta;
  const auto width = static_cast<size_t>(x.shape()[-1]);
  Tensor y = Tensor::zeros(x.shape(), x.dtype());
  if (!node.quantized()) {
    for (size_t row = 0; row < static_cast<size_t>(x.size()); row += width) {
      const auto from = x.f32().subspan(row, width);
      const auto to = y.f32().subspan(row, width);
      const float top = *std::ranges::max_element(from);
      float sum = 0;
      for (size_t i = 0; i < width; ++i) {
        sum += to[i] = std::exp(beta * (from[i] - top));
      }
      for (float& v : to) v /= sum;
    }
    return y;
  }
  if (has_int16(node)) {
    const double steps =
        double{node.quant(0).scale} * double{beta} / (10.0 / 65535.0);
    const FixedFactor factor = node.factor(steps);
    const SoftmaxTables& tables = node.runtime == TfliteRounding::litert
                                      ? softmax_tables64()
                                      : softmax_tables();
    for (size_t row = 0; row < static_cast<size_t>(x.size()); row += width) {
      softmax16(x.data<int16_t>().data() + row, y.data<int16_t>().data() + row,
                static_cast<int64_t>(width), factor, tables);
    }
    return y;
  }
  FunctionInput input;
  const double scale =
      std::min(double{beta} * double{node.quant(0).scale} * (1 << 26),
               static_cast<double>((int64_t{1} << 31) - 1));
  if (!(scale >= 1)) {
    throw FormatError("invalid_file", node.name,
                      "the scale of the input is too small");
  }
  input.factor = fixed_factor(scale);
  input.radius = input_radius(5, input.factor.shift);
  for (size_t row = 0; row < static_cast<size_t>(x.size()); row += width) {
    softmax_row(x.data<int8_t>().subspan(row, width),
                y.data<int8_t>().subspan(row, width), input);
  }
  return y;
}

Tensor run_logistic(const Node& node) {
  if (has_int16(node)) return sigmoid16_by(node, sigmoid16, 0);
  return sigmoid_by(
      node, [](float x) { return 1 / (1 + std::exp(-x)); }, fixed_logistic, 8,
      -128);
}
Tensor run_tanh(const Node& node) {
  if (has_int16(node)) return sigmoid16_by(node, tanh16, 1);
  return sigmoid_by(
      node, [](float x) { return std::tanh(x); }, fixed_tanh, 7, 0);
}

namespace {

Tensor clipped(const Node& node, schema::Activation activation) {
  const NodeQuant in = node.quant(0), out = node.output_quant();
  const FixedFactor factor = node.quantized()
                                 ? node.factor(double{in.scale / out.scale})
                                 : FixedFactor();
  const IntBounds bounds = int_bounds(activation, out);
  const FloatBounds limits = float_bounds(activation);
  return mapped_by(
      node, [&](float x) { return std::clamp(x, limits.low, limits.high); },
      [&](int32_t q) {
        const int32_t y = node.scaled(q - in.zero_point, factor);
        return std::clamp(y + out.zero_point, bounds.low, bounds.high);
      });
}

}  // namespace

Tensor run_relu(const Node& node) {
  return clipped(node, schema::Activation::RELU);
}
Tensor run_relu6(const Node& node) {
  return clipped(node, schema::Activation::RELU6);
}

Tensor run_leaky_relu(const Node& node) {
  const float alpha = node.options<schema::LeakyReluOptionsT>().alpha;
  const NodeQuant in = node.quant(0), out = node.output_quant();
  FixedFactor same, sloped;
  if (node.quantized()) {
    same = node.factor(double{in.scale / out.scale});
    sloped = node.factor(double{in.scale * alpha / out.scale});
  }
  return mapped_by(
      node, [&](float x) { return x > 0 ? x : x * alpha; },
      [&](int32_t q) {
        const int32_t x = q - in.zero_point;
        return node.scaled(x, x >= 0 ? same : sloped) + out.zero_point;
      });
}

namespace {

int16_t to_int16(int32_t x) {
  return static_cast<int16_t>(std::clamp(x, -32768, 32767));
}
// a * b / 2^15, rounded or truncated.
int16_t high_product16(int16_t a, int16_t b, int32_t nudge) {
  if (a == b && a == -32768) return 32767;
  const int32_t product = int32_t{a} * int32_t{b};
  const int32_t rounded = product >= 0 ? nudge : nudge == 0 ? 0 : 1 - nudge;
  return static_cast<int16_t>((product + rounded) / (1 << 15));
}
// The multiplier with 15 fractional bits.
int16_t halved(int32_t multiplier) {
  constexpr int32_t kMost = std::numeric_limits<int32_t>::max();
  constexpr int32_t kHalf = 1 << 15;
  return multiplier >= kMost - kHalf
             ? int16_t{32767}
             : static_cast<int16_t>((multiplier + kHalf) >> 16);
}

}  // namespace

// x * relu6(x + 3) / 6 in 16-bit arithmetic.
Tensor run_hard_swish(const Node& node) {
  const NodeQuant in = node.quant(0), out = node.output_quant();
  FixedFactor gate, output;
  node.expect_int8();
  if (node.quantized()) {
    const float fine = (1.0f / 128.0f) * in.scale;
    gate = node.factor(double{fine / (3.0f / 32768.0f)});
    output = node.factor(double{fine / out.scale});
  }
  return mapped_by(
      node, [](float x) { return x * std::clamp(x + 3, 0.0f, 6.0f) / 6; },
      [&](int32_t q) {
        const auto fine = static_cast<int16_t>((q - in.zero_point) * (1 << 7));
        const int16_t value =
            high_product16(fine, halved(output.multiplier), 1 << 14);
        int16_t gated = fine;
        if (gate.shift > 0) {
          gated = to_int16(int32_t{gated} * (1 << (gate.shift - 1)));
        }
        gated = high_product16(gated, halved(gate.multiplier), 1 << 14);
        if (gate.shift > 0) gated = to_int16(int32_t{gated} * 2);
        if (gate.shift < 0) {
          gated = static_cast<int16_t>(rounding_shift(gated, -gate.shift));
        }
        gated = static_cast<int16_t>((int32_t{gated} + (1 << 15)) >> 1);
        const int16_t product = high_product16(gated, value, 0);
        return rounding_shift(product, -output.shift) + out.zero_point;
      });
}

}  // namespace octet::io::tflite
