// Elementwise operators of two tensors, and conversions.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "node.h"

namespace octet::io::tflite {
namespace {

// Maps elements of the output to elements of the two inputs, which broadcast
// like NumPy's.
class Broadcast {
 public:
  explicit Broadcast(const Node& node) {
    const Shape& a = node.input(0).shape();
    const Shape& b = node.input(1).shape();
    const int rank = std::max(a.rank(), b.rank());
    std::vector<int64_t> sizes;
    for (int axis = 0; axis < rank; ++axis) {
      const int64_t m = size_at(a, axis - rank), n = size_at(b, axis - rank);
      if (m != n && m != 1 && n != 1) {
        throw FormatError("invalid_file", node.name,
                          fmt::format("{} and {} do not broadcast",
                                      a.to_string(), b.to_string()));
      }
      sizes.push_back(m == 1 ? n : m);
    }
    shape_ = Shape(std::span<const int64_t>(sizes));
    first_ = places(a);
    second_ = places(b);
  }
  const Shape& shape() const { return shape_; }
  size_t first(size_t i) const { return first_[i]; }
  size_t second(size_t i) const { return second_[i]; }

 private:
  static int64_t size_at(const Shape& s, int from_end) {
    return -from_end > s.rank() ? 1 : s[s.rank() + from_end];
  }
  std::vector<size_t> places(const Shape& s) const {
    std::vector<size_t> result;
    for (int64_t i = 0; i < shape_.size(); ++i) {
      int64_t rest = i, stride = 1, place = 0;
      for (int axis = -1; axis >= -shape_.rank(); --axis) {
        const int64_t at = rest % size_at(shape_, axis);
        rest /= size_at(shape_, axis);
        const int64_t size = size_at(s, axis);
        if (size > 1) place += at * stride;
        stride *= size;
      }
      result.push_back(static_cast<size_t>(place));
    }
    return result;
  }

  Shape shape_;
  std::vector<size_t> first_, second_;
};

template <class Float, class Int>
Tensor elementwise(const Node& node, const Float& of_floats,
                   const Int& of_ints) {
  const Broadcast places(node);
  Tensor y = Tensor::zeros(places.shape(), node.input(0).dtype());
  const auto count = static_cast<size_t>(y.size());
  if (!node.int8()) {
    const auto a = node.input(0).f32(), b = node.input(1).f32();
    for (size_t i = 0; i < count; ++i) {
      y.f32()[i] = of_floats(a[places.first(i)], b[places.second(i)]);
    }
    return y;
  }
  const auto a = node.input(0).data<int8_t>(), b = node.input(1).data<int8_t>();
  for (size_t i = 0; i < count; ++i) {
    y.data<int8_t>()[i] = of_ints(a[places.first(i)], b[places.second(i)]);
  }
  return y;
}

// x + y or x - y: both scaled to half the larger scale, with 20 more bits.
Tensor sum(const Node& node, schema::Activation activation, int32_t sign) {
  constexpr int kShift = 20;
  const NodeQuant a = node.quant(0), b = node.quant(1),
                  out = node.output_quant();
  const double twice{2 * std::max(a.scale, b.scale)};
  const bool int8 = node.int8();
  const FixedMultiplier of_a =
      int8 ? node.multiplier(a.scale / twice) : FixedMultiplier();
  const FixedMultiplier of_b =
      int8 ? node.multiplier(b.scale / twice) : FixedMultiplier();
  const FixedMultiplier of_sum =
      int8 ? node.multiplier(twice / ((1 << kShift) * out.scale))
           : FixedMultiplier();
  const IntBounds bounds = int_bounds(activation, out);
  const FloatBounds limits = float_bounds(activation);
  return elementwise(
      node,
      [&](float x, float y) {
        return std::clamp(x + static_cast<float>(sign) * y, limits.low,
                          limits.high);
      },
      [&](int8_t x, int8_t y) {
        const int32_t p = node.scaled((x - a.zero_point) * (1 << kShift), of_a);
        const int32_t q = node.scaled((y - b.zero_point) * (1 << kShift), of_b);
        return to_int8(node.scaled(p + sign * q, of_sum) + out.zero_point,
                       bounds.low, bounds.high);
      });
}

}  // namespace

IntBounds int_bounds(schema::Activation activation, NodeQuant output) {
  const auto quantized = [&](float value) {
    const double steps{std::round(value / output.scale)};
    return static_cast<int32_t>(
        std::clamp(output.zero_point + steps, -128.0, 127.0));
  };
  if (!(output.scale > 0)) return {};  // float
  switch (activation) {
    case schema::Activation::RELU:
      return {quantized(0), 127};
    case schema::Activation::RELU6:
      return {quantized(0), quantized(6)};
    case schema::Activation::RELU_N1_TO_1:
      return {quantized(-1), quantized(1)};
    default:
      return {};
  }
}

FloatBounds float_bounds(schema::Activation activation) {
  constexpr float kMost = std::numeric_limits<float>::max();
  switch (activation) {
    case schema::Activation::RELU:
      return {0, kMost};
    case schema::Activation::RELU6:
      return {0, 6};
    case schema::Activation::RELU_N1_TO_1:
      return {-1, 1};
    default:
      return {-kMost, kMost};
  }
}

Tensor run_add(const Node& node) {
  return sum(node, node.options<schema::AddOptionsT>().activation, 1);
}
Tensor run_sub(const Node& node) {
  return sum(node, node.options<schema::SubOptionsT>().activation, -1);
}

Tensor run_mul(const Node& node) {
  const auto activation = node.options<schema::MulOptionsT>().activation;
  const NodeQuant a = node.quant(0), b = node.quant(1),
                  out = node.output_quant();
  // The kernel multiplies the scales in float.
  const FixedMultiplier factor =
      node.int8() ? node.multiplier(double{a.scale * b.scale / out.scale})
                  : FixedMultiplier();
  const IntBounds bounds = int_bounds(activation, out);
  const FloatBounds limits = float_bounds(activation);
  return elementwise(
      node,
      [&](float x, float y) {
        return std::clamp(x * y, limits.low, limits.high);
      },
      [&](int8_t x, int8_t y) {
        const int32_t product = (x - a.zero_point) * (y - b.zero_point);
        return to_int8(node.scaled(product, factor) + out.zero_point,
                       bounds.low, bounds.high);
      });
}

Tensor run_maximum(const Node& node) {
  const auto larger = [](auto x, auto y) { return std::max(x, y); };
  return elementwise(node, larger, larger);
}
Tensor run_minimum(const Node& node) {
  const auto smaller = [](auto x, auto y) { return std::min(x, y); };
  return elementwise(node, smaller, smaller);
}

Tensor run_prelu(const Node& node) {
  const NodeQuant x = node.quant(0), slope = node.quant(1),
                  out = node.output_quant();
  FixedMultiplier same, scaled;
  if (node.int8()) {
    same = node.multiplier(double{x.scale} / double{out.scale});
    scaled = node.multiplier(double{x.scale} * double{slope.scale} /
                             double{out.scale});
  }
  return elementwise(
      node, [](float v, float a) { return v >= 0 ? v : v * a; },
      [&](int8_t v, int8_t a) {
        const int32_t value = v - x.zero_point;
        const int32_t result =
            value >= 0 ? node.scaled(value, same)
                       : node.scaled(value * (a - slope.zero_point), scaled);
        return to_int8(result + out.zero_point);
      });
}

namespace {

// Conversions between INT8 and UINT8, with any scales.
Tensor requantize(const Node& node, const Tensor& x) {
  const NodeQuant in = node.quant(0), out = node.output_quant();
  const bool to_unsigned = node.output.type == schema::TensorType::UINT8;
  const bool from_unsigned = x.dtype() == DType::u8;
  const FixedMultiplier factor =
      node.multiplier(double{in.scale} / double{out.scale});
  Tensor y = Tensor::zeros(x.shape(), to_unsigned ? DType::u8 : DType::i8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    const int32_t q =
        from_unsigned ? int32_t{x.data<uint8_t>()[i]} : x.data<int8_t>()[i];
    const int32_t value =
        node.scaled(q - in.zero_point, factor) + out.zero_point;
    if (to_unsigned) {
      y.data<uint8_t>()[i] = static_cast<uint8_t>(std::clamp(value, 0, 255));
    } else {
      y.data<int8_t>()[i] = to_int8(value);
    }
  }
  return y;
}

}  // namespace

Tensor run_quantize(const Node& node) {
  const Tensor& x = node.input(0);
  if (x.dtype() != DType::f32) return requantize(node, x);
  const NodeQuant out = node.output_quant();
  Tensor y = Tensor::zeros(x.shape(), DType::i8);
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    const float q =
        std::round(x.f32()[i] / out.scale) + static_cast<float>(out.zero_point);
    y.data<int8_t>()[i] = static_cast<int8_t>(std::clamp(q, -128.0f, 127.0f));
  }
  return y;
}

Tensor run_dequantize(const Node& node) {
  const Tensor& x = node.input(0);
  const NodeQuant in = node.quant(0);
  Tensor y = Tensor::zeros(x.shape());
  for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
    const int32_t q = x.dtype() == DType::u8 ? int32_t{x.data<uint8_t>()[i]}
                                             : x.data<int8_t>()[i];
    y.f32()[i] = in.scale * static_cast<float>(q - in.zero_point);
  }
  return y;
}

}  // namespace octet::io::tflite
