#include "int16_tables.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace octet::io {
namespace {

// Shifts each entry by half the interpolation error in the middle of its step.
template <class Float, class Function>
Int16Table table_of(Float input_scale, Float zero, const Function& function) {
  static constexpr Float kLow = -32768;
  static constexpr Float kHigh = 32767;
  const Float first = input_scale * (kLow - zero);
  const Float last = input_scale * (kHigh - zero);
  const Float output_scale = Float{2} / 65535;
  const Float factor =
      Float{65536} / (output_scale * kHigh - output_scale * kLow);
  const Float step = (last - first) / 512;
  const Float half_step = step / 2;
  const auto stored = [](Float v) {
    return static_cast<int16_t>(std::clamp(v, kLow, kHigh));
  };
  Int16Table table;
  for (int i = 0; i < 512; ++i) {
    const Float at = static_cast<Float>(i) * step;
    const Float value = function(first + at);
    const Float middle = function(first + at + half_step);
    const Float next = function(first + static_cast<Float>(i + 1) * step);
    const Float sample = std::round(value * factor);
    const Float between =
        std::round((next * factor + std::round(value * factor)) / 2);
    const Float error = between - std::round(middle * factor);
    table[static_cast<size_t>(i)] = stored(sample - std::round(error / 2));
  }
  table[512] = stored(std::round(function(last) * factor));
  return table;
}

template <class Float>
SoftmaxTables tables_in() {
  return {table_of<Float>(Float{10} / 65535, 32767,
                          [](Float x) { return std::exp(x); }),
          table_of<Float>(Float{1} / 65535, -32768,
                          [](Float x) { return 1 / (1 + x); })};
}

int16_t to_int16(int32_t x) {
  return static_cast<int16_t>(std::clamp(x, -32768, 32767));
}

int32_t converted(int16_t x, const SigmoidInput& input) {
  const int32_t round = input.shift > 0 ? 1 << (input.shift - 1) : 0;
  return (x * input.multiplier + round) >> input.shift;
}

}  // namespace

const SoftmaxTables& softmax_tables() {
  static const SoftmaxTables tables = tables_in<float>();
  return tables;
}

const SoftmaxTables& softmax_tables64() {
  static const SoftmaxTables tables = tables_in<double>();
  return tables;
}

const std::array<uint16_t, 256>& sigmoid_table() {
  static const std::array<uint16_t, 256> table = [] {
    std::array<uint16_t, 256> result;
    for (size_t i = 0; i < result.size(); ++i) {
      const double s = 1 / (1 + std::exp(-static_cast<double>(i) / 24));
      const double curvature = s * (1 - s) * (1 - 2 * s) / (24.0 * 24.0);
      result[i] =
          static_cast<uint16_t>(std::floor(65536 * (s - curvature / 16) + 0.5));
    }
    result[255] = 65535;
    return result;
  }();
  return table;
}

SigmoidInput sigmoid_input(float scale, int largest_shift) {
  const float log2 = std::log(scale) * (1.0f / std::log(2.0f));
  const float rounded = std::round(log2);
  const int shift = 12 + static_cast<int>(rounded);
  if (std::abs(log2 - rounded) < 1e-3f && shift >= 0 &&
      shift <= largest_shift) {
    return {3 << shift, 0};
  }
  SigmoidInput input;
  double multiplier = double{scale} * 4096.0 * 3.0;
  while (multiplier <= 32767.0 / 2.0 && input.shift <= 30) {
    ++input.shift;
    multiplier *= 2;
  }
  input.multiplier = static_cast<int32_t>(multiplier);
  return input;
}

int16_t sigmoid16(int16_t q, const SigmoidInput& input) {
  const int32_t x = converted(q, input);
  const auto magnitude = static_cast<uint32_t>(std::abs(x));
  const uint32_t index = magnitude >> 9;
  uint32_t result = 0x7fffu << 10;
  if (index < 255) {
    const auto& table = sigmoid_table();
    const uint32_t low = table[index], high = table[index + 1];
    result = (low << 9) + (magnitude & 511) * (high - low);
  }
  result = x >= 0 ? result + 512 : (1u << 25) - result + 511;
  return static_cast<int16_t>(result >> 10);
}

int16_t tanh16(int16_t q, const SigmoidInput& input) {
  const int32_t x = converted(q, input);
  const auto magnitude = static_cast<uint32_t>(std::abs(x));
  const uint32_t index = magnitude >> 8;
  int32_t result = 0xffff << 8;
  if (index < 255) {
    const auto& table = sigmoid_table();
    const int32_t low = table[index], high = table[index + 1];
    result = (low << 8) + static_cast<int32_t>(magnitude & 255) * (high - low);
  }
  result = x >= 0 ? result - (1 << 23) + 128 : -result + (1 << 23) + 127;
  return static_cast<int16_t>(result >> 8);
}

void softmax16(const int16_t* x, int16_t* y, int64_t count,
               const FixedFactor& factor, const SoftmaxTables& tables) {
  const int16_t top = *std::max_element(x, x + count);
  int32_t sum = 0;
  for (int64_t k = 0; k < count; ++k) {
    const int32_t difference = scaled(x[k] - top, factor);
    y[k] = looked_up(to_int16(difference + 32767), tables.exponentials);
    sum += y[k];
  }
  const int headroom = std::countl_zero(static_cast<uint32_t>(sum));
  const auto normalized = static_cast<int32_t>(
      ((int64_t{sum} << (headroom - 1)) + (1 << 13)) >> 14);
  const int64_t scale = looked_up(to_int16(normalized - (1 << 15) - (1 << 16)),
                                  tables.reciprocals);
  const int right = 31 - headroom;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t product = y[k] * scale + (int64_t{1} << (right - 1));
    y[k] =
        static_cast<int16_t>(std::clamp<int64_t>(product >> right, 0, 32767));
  }
}

}  // namespace octet::io
