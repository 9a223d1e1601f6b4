// Elementwise operators of two tensors, and conversions.
#include <algorithm>
#include <cmath>
#include <limits>
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
  if (!node.quantized()) {
    const auto a = node.input(0).f32(), b = node.input(1).f32();
    for (size_t i = 0; i < count; ++i) {
      y.f32()[i] = of_floats(a[places.first(i)], b[places.second(i)]);
    }
    return y;
  }
  const NodeQuant out = node.output_quant();
  by_integer(node.input(0), [&]<class T>(T) {
    const auto a = node.input(0).data<T>(), b = node.input(1).data<T>();
    for (size_t i = 0; i < count; ++i) {
      const int32_t value = of_ints(a[places.first(i)], b[places.second(i)]);
      y.data<T>()[i] = clamped<T>(value, out.low, out.high);
    }
  });
  return y;
}

// x + y or x - y: both scaled to half the larger scale, with 20 more bits, or
// 15 for int16.
Tensor sum(const Node& node, schema::Activation activation, int32_t sign) {
  const NodeQuant a = node.quant(0), b = node.quant(1),
                  out = node.output_quant();
  const int32_t unit = 1 << (out.high > 127 ? 15 : 20);
  const double twice{2 * std::max(a.scale, b.scale)};
  // TensorFlow Lite Micro divides the scales of a difference in float.
  const bool single = sign < 0 && node.runtime != TfliteRounding::litert;
  const auto ratio = [&](double x, double y) {
    return single ? double{static_cast<float>(x) / static_cast<float>(y)}
                  : x / y;
  };
  FixedFactor of_a, of_b, of_sum;
  if (node.quantized()) {
    of_a = node.factor(ratio(double{a.scale}, twice));
    of_b = node.factor(ratio(double{b.scale}, twice));
    of_sum = node.factor(ratio(twice, unit * double{out.scale}));
  }
  const IntBounds bounds = int_bounds(activation, out);
  const FloatBounds limits = float_bounds(activation);
  return elementwise(
      node,
      [&](float x, float y) {
        return std::clamp(x + static_cast<float>(sign) * y, limits.low,
                          limits.high);
      },
      [&](int32_t x, int32_t y) {
        const int32_t p = node.scaled((x - a.zero_point) * unit, of_a);
        const int32_t q = node.scaled((y - b.zero_point) * unit, of_b);
        return std::clamp(node.scaled(p + sign * q, of_sum) + out.zero_point,
                          bounds.low, bounds.high);
      });
}

}  // namespace

IntBounds int_bounds(schema::Activation activation, NodeQuant output) {
  const auto quantized = [&](float value) {
    const double steps{std::round(value / output.scale)};
    return static_cast<int32_t>(std::clamp(
        output.zero_point + steps, double(output.low), double(output.high)));
  };
  if (!(output.scale > 0)) return {};  // float
  switch (activation) {
    case schema::Activation::RELU:
      return {quantized(0), output.high};
    case schema::Activation::RELU6:
      return {quantized(0), quantized(6)};
    case schema::Activation::RELU_N1_TO_1:
      return {quantized(-1), quantized(1)};
    default:
      return {output.low, output.high};
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
  // LiteRT multiplies the scales in float.
  const double m = node.runtime == TfliteRounding::litert
                       ? double{a.scale * b.scale / out.scale}
                       : double{a.scale} * double{b.scale} / double{out.scale};
  const FixedFactor factor = node.quantized() ? node.factor(m) : FixedFactor();
  const IntBounds bounds = int_bounds(activation, out);
  const FloatBounds limits = float_bounds(activation);
  return elementwise(
      node,
      [&](float x, float y) {
        return std::clamp(x * y, limits.low, limits.high);
      },
      [&](int32_t x, int32_t y) {
        const int32_t product = (x - a.zero_point) * (y - b.zero_point);
        return std::clamp(node.scaled(product, factor) + out.zero_point,
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
  node.expect_int8();
  const NodeQuant x = node.quant(0), slope = node.quant(1),
                  out = node.output_quant();
  FixedFactor same, scaled;
  if (node.quantized()) {
    same = node.factor(double{x.scale} / double{out.scale});
    scaled =
        node.factor(double{x.scale} * double{slope.scale} / double{out.scale});
  }
  return elementwise(
      node, [](float v, float a) { return v >= 0 ? v : v * a; },
      [&](int32_t v, int32_t a) {
        const int32_t value = v - x.zero_point;
        const int32_t result =
            value >= 0 ? node.scaled(value, same)
                       : node.scaled(value * (a - slope.zero_point), scaled);
        return result + out.zero_point;
      });
}

namespace {

// Calls body with a value of the type of a quantized tensor.
template <class Body>
void by_type(DType type, const Body& body) {
  switch (type) {
    case DType::u8:
      return body(uint8_t{});
    case DType::i16:
      return body(int16_t{});
    default:
      return body(int8_t{});
  }
}

DType dtype_of_output(const Node& node) {
  switch (node.output.type) {
    case schema::TensorType::UINT8:
      return DType::u8;
    case schema::TensorType::INT16:
      return DType::i16;
    default:
      return DType::i8;
  }
}

// Conversions between integers of any types and scales.
Tensor requantize(const Node& node, const Tensor& x) {
  const NodeQuant in = node.quant(0), out = node.output_quant();
  const FixedFactor factor = node.factor(double{in.scale} / double{out.scale});
  Tensor y = Tensor::zeros(x.shape(), dtype_of_output(node));
  by_type(x.dtype(), [&]<class From>(From) {
    by_type(y.dtype(), [&]<class To>(To) {
      using Limits = std::numeric_limits<To>;
      const auto from = x.data<From>();
      for (size_t i = 0; i < from.size(); ++i) {
        const int32_t value =
            node.scaled(from[i] - in.zero_point, factor) + out.zero_point;
        y.data<To>()[i] = clamped<To>(value, Limits::min(), Limits::max());
      }
    });
  });
  return y;
}

}  // namespace

Tensor run_quantize(const Node& node) {
  const Tensor& x = node.input(0);
  if (x.dtype() != DType::f32) return requantize(node, x);
  const NodeQuant out = node.output_quant();
  Tensor y = Tensor::zeros(x.shape(), dtype_of_output(node));
  by_integer(y, [&]<class T>(T) {
    for (size_t i = 0; i < static_cast<size_t>(x.size()); ++i) {
      const float q = std::round(x.f32()[i] / out.scale) +
                      static_cast<float>(out.zero_point);
      y.data<T>()[i] = static_cast<T>(std::clamp(q, static_cast<float>(out.low),
                                                 static_cast<float>(out.high)));
    }
  });
  return y;
}

Tensor run_dequantize(const Node& node) {
  const Tensor& x = node.input(0);
  const NodeQuant in = node.quant(0);
  Tensor y = Tensor::zeros(x.shape());
  by_type(x.dtype(), [&]<class T>(T) {
    const auto from = x.data<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      y.f32()[i] = in.scale * static_cast<float>(from[i] - in.zero_point);
    }
  });
  return y;
}

}  // namespace octet::io::tflite
