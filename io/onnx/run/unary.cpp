// Unary operators; Clip and Cast.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../tensors.h"
#include "constants.h"
#include "map.h"
#include "numbers.h"
#include "operators.h"

namespace octet::io::run {
namespace {

constexpr int64_t kClipInputs = 11;  // first opset with bounds as inputs

// Returns a bound of Clip.
template <class T>
T bound(const NodeContext& context, size_t i, const std::string& name,
        T otherwise) {
  if (context.opset() < kClipInputs) {
    if (!context.has_attribute(name)) return otherwise;
    const float value = context.number(name, 0);
    if constexpr (std::is_same_v<T, float>) return value;
    return saturated<T>(value);
  }
  if (!context.has_input(i)) return otherwise;
  const auto value = context.input(i).data<T>();
  if (value.size() != 1) {
    context.refuse(fmt::format("{} must be a single number, got {}", name,
                               context.input(i).shape().to_string()));
  }
  return value[0];
}

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

Tensor cast_to(const NodeContext& context, DType type) {
  const Tensor& x = context.input(0);
  return visit_any(context, x.dtype(), [&]<class From>(From) {
    return visit_any(context, type, [&]<class To>(To) {
      return map<To, From>(context, x, converted<To, From>);
    });
  });
}

Values clip(const NodeContext& context) {
  const Tensor& x = context.input(0);
  return {visit_number(context, x.dtype(), [&]<class T>(T) {
    using Limits = std::numeric_limits<T>;
    const T low = bound<T>(context, 1, "min", Limits::lowest());
    const T high = bound<T>(context, 2, "max", Limits::max());
    // If the bounds cross, all values become the upper bound.
    return map<T, T>(context, x, [&](T value) {
      const T raised = value < low ? low : value;
      return high < raised ? high : raised;
    });
  })};
}

Values cast(const NodeContext& context) {
  constexpr int64_t kNumberedTypes = 6;  // first opset with numbered types
  int32_t number = 0;
  if (context.opset() >= kNumberedTypes) {
    number = static_cast<int32_t>(context.integer("to", 0));
  } else {
    onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
    (void)onnx::TensorProto::DataType_Parse(context.text("to", ""), &type);
    number = type;
  }
  const auto to = dtype_of(number);
  if (!to) {
    context.unsupported(fmt::format("element type is not supported: {}",
                                    io::type_name(number)));
  }
  return {cast_to(context, *to)};
}

Values cast_like(const NodeContext& context) {
  return {cast_to(context, context.input(1).dtype())};
}

}  // namespace

Operators unary_operators() {
  static constexpr NamedOperator kOperators[] = {
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
      {"Reciprocal", of_floats<[](float x) { return 1 / x; }>},
      {"Clip", clip},
      {"Cast", cast},
      {"CastLike", cast_like},
  };
  return kOperators;
}

}  // namespace octet::io::run
