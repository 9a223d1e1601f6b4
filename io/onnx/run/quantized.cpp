// ONNX Runtime's operators on quantized values, "QOperator": the float operator
// applied to dequantized values, with quantized results.
// Source: ONNX Runtime, docs/ContribOperators.md.
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "../proto_limits.h"
#include "channels.h"
#include "numbers.h"
#include "operators.h"
#include "product.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

// Inputs with quantized values, their scale and their zero point.
struct Codes {
  size_t values, scale, zero;
};

template <class T>
T zero_of(const NodeContext& context, size_t i) {
  return context.has_input(i) ? scalar<T>(context, i) : T{};
}

Tensor dequantized(const NodeContext& context, const Codes& codes) {
  const Tensor& x = context.input(codes.values);
  const float scale = scalar<float>(context, codes.scale);
  Tensor y = context.make(dims_of(x), DType::f32);
  visit<int8_t, uint8_t>(context, x.dtype(), [&]<class T>(T) {
    const T zero = zero_of<T>(context, codes.zero);
    const auto from = x.data<T>();
    for (size_t i = 0; i < from.size(); ++i) {
      y.f32()[i] = static_cast<float>(int{from[i]} - int{zero}) * scale;
    }
  });
  return y;
}

// Quantizes to the type of the zero point, or of input `like` if it is absent.
Tensor quantized(const NodeContext& context, const Tensor& x, size_t scale_at,
                 size_t zero_at, size_t like) {
  const float scale = scalar<float>(context, scale_at);
  const DType type =
      context.input(context.has_input(zero_at) ? zero_at : like).dtype();
  Tensor y = context.make(dims_of(x), type);
  visit<int8_t, uint8_t>(context, type, [&]<class T>(T) {
    const T zero = zero_of<T>(context, zero_at);
    const auto to = y.data<T>();
    for (size_t i = 0; i < to.size(); ++i) {
      to[i] = run::quantized<T>(x.f32()[i] / scale, zero);
    }
  });
  return y;
}

// Applies the operator without "QLinear" to one or more tensors. Inputs: each
// tensor with its scale and zero point, then those of the result.
template <size_t kTensors>
Values qlinear(const NodeContext& context) {
  // channels_last has another layout than all other operators.
  if (context.integer("channels_last", 0) != 0) {
    context.unsupported("channels_last must be 0");
  }
  std::vector<Tensor> inputs;
  for (size_t i = 0; i < kTensors; ++i) {
    inputs.push_back(dequantized(context, {3 * i, 3 * i + 1, 3 * i + 2}));
  }
  const Operator op = find_operator(context.type().substr(7));
  const Values y =
      op(context.with_inputs(inputs, context.integer("opset", kLastOpset)));
  return {quantized(context, y[0], 3 * kTensors, 3 * kTensors + 1, 0)};
}

// Inputs: scale and zero point of the result, then tensors, each with its own.
Values qlinear_concat(const NodeContext& context) {
  if (context.inputs().size() % 3 != 2) {
    context.refuse(fmt::format(
        "must have a scale and a zero point for each tensor, got {} "
        "inputs",
        context.inputs().size()));
  }
  std::vector<Tensor> inputs;
  for (size_t i = 2; i < context.inputs().size(); i += 3) {
    inputs.push_back(dequantized(context, {i, i + 1, i + 2}));
  }
  const Values y =
      find_operator("Concat")(context.with_inputs(inputs, kLastOpset));
  return {quantized(context, y[0], 0, 1, 2)};
}

// Inputs: a, its scale and zero point; the same for b, also per column; an
// int32 bias, with the product of both scales; scale and zero point of the
// result, which is float without them.
Values qgemm(const NodeContext& context) {
  const auto centered_matrix = [&](size_t i, const char* transposed, int axis) {
    const bool turned = context.integer(transposed, 0) != 0;
    return oriented(
        context,
        centered(context, context.input(i), i + 2, turned ? -3 - axis : axis),
        turned);
  };
  const Tensor a = centered_matrix(0, "transA", -2);
  const Tensor b = centered_matrix(3, "transB", -1);
  Tensor sums = multiply_quantized(context, a, b);
  if (context.has_input(6)) {
    const Dims dims = dims_of(sums);
    sums = combine<int32_t, int32_t, int32_t>(
        context, sums, context.input(6),
        [](int32_t sum, int32_t bias) { return plus(sum, bias); });
    if (dims_of(sums) != dims) {
      context.refuse("bias must broadcast to the product, got " +
                     context.input(6).shape().to_string());
    }
  }
  const float scale = context.number("alpha", 1) * scalar<float>(context, 1);
  const auto scales = context.input(4).f32();
  const Channels columns = channels_of(context, sums, context.input(4), 1);
  Tensor y = context.make(dims_of(sums), DType::f32);
  columns.for_each([&](int64_t c, int64_t first) {
    for (int64_t i = first; i < first + columns.inner; ++i) {
      const auto at = static_cast<size_t>(i);
      y.f32()[at] = static_cast<float>(sums.data<int32_t>()[at]) * scale *
                    scales[static_cast<size_t>(c)];
    }
  });
  if (!context.has_input(7)) return {y};
  return {quantized(context, y, 7, 8, 0)};
}

}  // namespace

Operators quantized_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"com.microsoft.QGemm", qgemm},
      {"com.microsoft.QLinearAdd", qlinear<2>},
      {"com.microsoft.QLinearAveragePool", qlinear<1>},
      {"com.microsoft.QLinearConcat", qlinear_concat},
      {"com.microsoft.QLinearGlobalAveragePool", qlinear<1>},
      {"com.microsoft.QLinearLeakyRelu", qlinear<1>},
      {"com.microsoft.QLinearMul", qlinear<2>},
      {"com.microsoft.QLinearSigmoid", qlinear<1>},
      {"com.microsoft.QLinearSoftmax", qlinear<1>},
  };
  return kOperators;
}

}  // namespace octet::io::run
