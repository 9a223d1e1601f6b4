// Functions of single elements; Cast.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "map.h"
#include "numbers.h"
#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

// Truncates toward zero; ONNX does not define results out of range.
template <class To, class From>
To converted(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != From{};
  } else if constexpr (std::is_integral_v<To> && std::is_same_v<From, float>) {
    return saturated<To>(std::trunc(x));
  } else {
    return static_cast<To>(x);
  }
}

Values clip(const NodeContext& context) {
  const Tensor& x = context.input(0);
  return {visit_number(context, x.dtype(), [&]<class T>(T) {
    using Limits = std::numeric_limits<T>;
    const T low =
        context.has_input(1) ? scalar<T>(context, 1) : Limits::lowest();
    const T high = context.has_input(2) ? scalar<T>(context, 2) : Limits::max();
    // If the bounds cross, all values become the upper bound.
    return map<T, T>(context, x, [&](T value) {
      const T raised = value < low ? low : value;
      return high < raised ? high : raised;
    });
  })};
}

Values cast(const NodeContext& context) {
  const auto number = static_cast<int32_t>(context.integer("to", 0));
  const auto to = dtype_of(number);
  if (!to) {
    context.unsupported(fmt::format("element type is not supported: {}",
                                    io::type_name(number)));
  }
  const Tensor& x = context.input(0);
  return {visit_any(context, x.dtype(), [&]<class From>(From) {
    return visit_any(context, *to, [&]<class To>(To) {
      return map<To, From>(context, x, converted<To, From>);
    });
  })};
}

Values leaky_relu(const NodeContext& context) {
  const float alpha = context.number("alpha", 0.01f);
  return map_floats(context, [=](float x) { return x < 0 ? alpha * x : x; });
}

Values elu(const NodeContext& context) {
  const float alpha = context.number("alpha", 1);
  return map_floats(context,
                    [=](float x) { return x < 0 ? alpha * std::expm1(x) : x; });
}

Values hard_sigmoid(const NodeContext& context) {
  const float alpha = context.number("alpha", 0.2f);
  const float beta = context.number("beta", 0.5f);
  return map_floats(context, [=](float x) {
    return std::clamp(alpha * x + beta, 0.0f, 1.0f);
  });
}

// log(1 + e^x) without overflow.
float softplus(float x) {
  return x > 0 ? x + std::log1p(std::exp(-x)) : std::log1p(std::exp(x));
}

}  // namespace

Operators unary_operators() {
  static constexpr NamedOperator kOperators[] = {
      {"Relu", of_numbers<[]<class T>(T x) { return x < T{} ? T{} : x; }>},
      {"LeakyRelu", leaky_relu},
      {"Celu", elu},  // of alpha 1
      {"Elu", elu},
      {"HardSigmoid", hard_sigmoid},
      {"Sigmoid", of_floats<[](float x) { return 1 / (1 + std::exp(-x)); }>},
      {"Softplus", of_floats<softplus>},
      // Of alpha 1.
      {"Swish", of_floats<[](float x) { return x / (1 + std::exp(-x)); }>},
      {"Tanh", of_floats<[](float x) { return std::tanh(x); }>},
      {"Abs", of_numbers<[]<class T>(T x) {
         return x < 0                   ? minus(T{}, x)
                : std::is_integral_v<T> ? x
                                        : static_cast<T>(std::fabs(x));
       }>},
      {"Neg", of_numbers<[]<class T>(T x) {
         return std::is_integral_v<T> ? minus(T{}, x) : static_cast<T>(-x);
       }>},
      {"Sign", of_numbers<[]<class T>(T x) {
         return static_cast<T>((x > T{}) - (x < T{}));
       }>},
      {"Floor", of_floats<[](float x) { return std::floor(x); }>},
      {"Ceil", of_floats<[](float x) { return std::ceil(x); }>},
      // Rounds half to even.
      {"Round", of_floats<[](float x) { return std::nearbyint(x); }>},
      {"Sqrt", of_floats<[](float x) { return std::sqrt(x); }>},
      {"Exp", of_floats<[](float x) { return std::exp(x); }>},
      {"Log", of_floats<[](float x) { return std::log(x); }>},
      {"Erf", of_floats<[](float x) { return std::erf(x); }>},
      {"Sin", of_floats<[](float x) { return std::sin(x); }>},
      {"Cos", of_floats<[](float x) { return std::cos(x); }>},
      {"Tan", of_floats<[](float x) { return std::tan(x); }>},
      {"Asin", of_floats<[](float x) { return std::asin(x); }>},
      {"Acos", of_floats<[](float x) { return std::acos(x); }>},
      {"Atan", of_floats<[](float x) { return std::atan(x); }>},
      {"Sinh", of_floats<[](float x) { return std::sinh(x); }>},
      {"Cosh", of_floats<[](float x) { return std::cosh(x); }>},
      {"Asinh", of_floats<[](float x) { return std::asinh(x); }>},
      {"Acosh", of_floats<[](float x) { return std::acosh(x); }>},
      {"Atanh", of_floats<[](float x) { return std::atanh(x); }>},
      {"Reciprocal", of_floats<[](float x) { return 1 / x; }>},
      {"Clip", clip},
      {"Cast", cast},
  };
  return kOperators;
}

}  // namespace octet::io::run
