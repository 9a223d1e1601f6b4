// Quantization and dequantization, also of integer sums.
#include <algorithm>
#include <cmath>
#include <type_traits>

#include <fmt/format.h>

#include <octet/runtime/quantization.h>

#include "constants.h"
#include "numbers.h"
#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

/// x viewed as [outer, count, inner] with `count` parameters.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;

  /// Calls body(channel, first) for each contiguous run of `inner` elements.
  template <class Body>
  void for_each(const Body& body) const {
    for (int64_t i = 0; i < outer * count; ++i) body(i % count, i * inner);
  }
};

/// Maps `numbers`, a scalar or a list, to an axis of x.
Channels channels_of(const NodeContext& context, const Tensor& x,
                     const Tensor& numbers, int64_t axis) {
  if (numbers.shape().rank() > 1) {
    context.refuse("parameters must be a number or a list, got " +
                   numbers.shape().to_string());
  }
  if (numbers.size() == 1) return {1, 1, x.size()};
  const int at = context.axis(axis, x.shape().rank());
  if (x.shape()[at] != numbers.size()) {
    context.refuse(fmt::format("must have {} numbers for axis {} of {}, got {}",
                               x.shape()[at], at, x.shape().to_string(),
                               numbers.size()));
  }
  return {x.shape().slice(0, at).size(), x.shape()[at],
          x.shape().slice(at + 1, x.shape().rank()).size()};
}

// Maps elements of x to their scale and zero point.
class ScaleLayout {
 public:
  // If block_size is not 0, that many elements along the axis share a scale.
  ScaleLayout(const NodeContext& context, const Tensor& x, const Tensor& scales)
      : count_(scales.size()), block_(context.integer("block_size", 0)) {
    const int64_t axis = context.integer("axis", 1);
    if (block_ == 0) {
      channels_ = channels_of(context, x, scales, axis);
      return;
    }
    const int rank = x.shape().rank();
    const int at = context.axis(axis, rank);
    const int64_t length = x.shape()[at];
    const int64_t blocks = (length + block_ - 1) / std::max<int64_t>(block_, 1);
    if (block_ < 0 || scales.shape().rank() != rank ||
        scales.shape() != x.shape().with(at, blocks)) {
      context.refuse(fmt::format(
          "scales must fit blocks of {} along axis {} of {}, got {}", block_,
          at, x.shape().to_string(), scales.shape().to_string()));
    }
    channels_ = {x.shape().slice(0, at).size(), length,
                 x.shape().slice(at + 1, rank).size()};
  }

  // Number of scales.
  int64_t count() const { return count_; }

  // Calls body(scale, first, count) for each run of elements.
  template <class Body>
  void for_each(const Body& body) const {
    if (block_ == 0) {
      channels_.for_each([&](int64_t channel, int64_t first) {
        body(channel, first, channels_.inner);
      });
      return;
    }
    const int64_t blocks = (channels_.count + block_ - 1) / block_;
    for (int64_t i = 0; i < channels_.outer * channels_.count; ++i) {
      const int64_t block =
          i / channels_.count * blocks + i % channels_.count / block_;
      for (int64_t k = 0; k < channels_.inner; ++k) {
        body(block * channels_.inner + k, i * channels_.inner + k, 1);
      }
    }
  }

 private:
  Channels channels_;
  int64_t count_ = 1;
  int64_t block_ = 0;
};

// Returns the zero point of each scale: input 2, of the quantized type.
template <class T>
std::vector<T> zero_points(const NodeContext& context, int64_t count) {
  if (!context.has_input(2)) return std::vector<T>(static_cast<size_t>(count));
  const auto zeros = context.input(2).data<T>();
  if (static_cast<int64_t>(zeros.size()) != count) {
    context.refuse(
        fmt::format("must have {} zero points like the scales, got {}", count,
                    context.input(2).shape().to_string()));
  }
  return {zeros.begin(), zeros.end()};
}

template <class To, class From>
void quantize(const ScaleLayout& layout, const From* x, const float* scales,
              const To* zeros, To* y) {
  layout.for_each([&](int64_t c, int64_t first, int64_t count) {
    for (int64_t i = first; i < first + count; ++i) {
      const float codes = static_cast<float>(x[i]) / scales[c];
      if constexpr (std::is_same_v<To, float>) {
        y[i] = round_to_format(codes, NumberFormat::fp8_e4m3);
      } else {
        y[i] = quantized<To>(codes, zeros[c]);
      }
    }
  });
}

// Returns the zero point's type, otherwise that of the attribute.
DType code_type(const NodeContext& context) {
  if (context.has_input(2)) return context.input(2).dtype();
  const auto number = static_cast<int32_t>(context.integer("output_dtype", 0));
  if (number == onnx::TensorProto::UNDEFINED) return DType::u8;
  const auto type = dtype_of(number);
  if (!type) {
    context.unsupported("quantized type must be int8 or uint8, got " +
                        io::type_name(number));
  }
  return *type;
}

Values quantize_linear(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& scales = context.input(1);
  const ScaleLayout layout(context, x, scales);
  const DType codes = code_type(context);
  if (codes == DType::f32 && context.integer("saturate", 1) == 0) {
    context.unsupported("float8 must saturate, got saturate = 0");
  }
  Tensor y = context.make(sizes_of(x), codes);
  // float: float8e4m3fn.
  visit<int8_t, uint8_t, float>(context, codes, [&]<class To>(To) {
    const auto zeros = zero_points<To>(context, layout.count());
    visit<float, int32_t>(context, x.dtype(), [&]<class From>(From) {
      quantize(layout, x.data<From>().data(), scales.f32().data(), zeros.data(),
               y.data<To>().data());
    });
  });
  return {y};
}

Values dequantize_linear(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const auto scales = context.input(1).f32();
  const ScaleLayout layout(context, x, context.input(1));
  Tensor y = context.make(sizes_of(x), DType::f32);
  visit<int8_t, uint8_t, int32_t, float>(context, x.dtype(), [&]<class T>(T) {
    const auto zeros = zero_points<T>(context, layout.count());
    const T* from = x.data<T>().data();
    float* to = y.f32().data();
    layout.for_each([&](int64_t c, int64_t first, int64_t count) {
      const auto at = static_cast<size_t>(c);
      for (int64_t i = first; i < first + count; ++i) {
        if constexpr (std::is_same_v<T, float>) {
          to[i] = from[i] * scales[at];
        } else {
          const int64_t steps = int64_t{from[i]} - int64_t{zeros[at]};
          to[i] = static_cast<float>(steps) * scales[at];
        }
      }
    });
  });
  return {y};
}

// Quantizes sums of products. Inputs: int32 sums; scales of their factors, of
// the second also for each index of an axis; scale and zero point of the
// result.
Values requantize(const NodeContext& context) {
  const Tensor& sums = context.input(0);
  const double a = scalar<float>(context, 1), y = scalar<float>(context, 3);
  const Tensor& b = context.input(2);
  const Channels channels =
      channels_of(context, sums, b, context.integer("axis", 0));
  const DType type = context.input(4).dtype();
  Tensor result = context.make(sizes_of(sums), type);
  visit<int8_t, uint8_t>(context, type, [&]<class T>(T) {
    const T zero = scalar<T>(context, 4);
    const int32_t* from = sums.data<int32_t>().data();
    T* to = result.data<T>().data();
    channels.for_each([&](int64_t c, int64_t first) {
      const double scale = a * b.f32()[static_cast<size_t>(c)] / y;
      for (int64_t i = first; i < first + channels.inner; ++i) {
        to[i] = quantized<T>(from[i] * scale, zero);
      }
    });
  });
  return {result};
}

}  // namespace

Operators quantization_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"DequantizeLinear", dequantize_linear},
      {"QuantizeLinear", quantize_linear},
      {"com.microsoft.DequantizeLinear", dequantize_linear},
      {"com.microsoft.QuantizeLinear", quantize_linear},
      {"octet.Requantize", requantize},
  };
  return kOperators;
}

}  // namespace octet::io::run
