#include "precision.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "map.h"

namespace octet::io::run {
namespace {

// Source: IEEE 754-2019, 3.6; bfloat16 is the upper half of a float32.
struct Format {
  int digits;          // of the significand, with the implicit bit
  int least_exponent;  // of normal numbers, by std::frexp
  double largest;
};
constexpr Format kHalf{11, -13, 65504};
constexpr Format kBfloat{8, -125, 0x1.FEp127};

}  // namespace

bool is_short_float(int32_t data_type) {
  return data_type == onnx::TensorProto::FLOAT16 ||
         data_type == onnx::TensorProto::BFLOAT16;
}

float rounded_to(int32_t data_type, float x) {
  const Format& format =
      data_type == onnx::TensorProto::FLOAT16 ? kHalf : kBfloat;
  if (!std::isfinite(x)) return x;
  int exponent = 0;
  std::frexp(x, &exponent);
  const int last = std::max(exponent, format.least_exponent) - format.digits;
  const double y = std::ldexp(std::nearbyint(std::ldexp(x, -last)), last);
  if (std::fabs(y) > format.largest) {
    return std::copysign(std::numeric_limits<float>::infinity(), x);
  }
  return static_cast<float>(y);
}

Tensor rounded_to(const NodeContext& context, int32_t data_type,
                  const Tensor& x) {
  const auto values = x.f32();
  const bool exact = std::ranges::all_of(values, [&](float value) {
    return std::isnan(value) || rounded_to(data_type, value) == value;
  });
  // Other tensors may share the elements of x.
  if (exact) return x;
  return map<float, float>(
      context, x, [&](float value) { return rounded_to(data_type, value); });
}

}  // namespace octet::io::run
