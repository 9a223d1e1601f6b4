// Binary and variadic arithmetic operators, with broadcasting.
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "numbers.h"
#include "operators.h"
#include "strided_iterator.h"

namespace octet::io::run {
namespace {

template <class F>
Values binary(const NodeContext& context, F f) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  return {visit_number(context, a.dtype(), [&]<class T>(T) {
    return combine<T, T, T>(context, a, b, f);
  })};
}

template <auto f>
Values binary(const NodeContext& context) {
  return binary(context, f);
}

// Combines all inputs with f, from first to last.
template <auto f>
Values folded(const NodeContext& context) {
  Tensor y = context.input(0);
  for (size_t i = 1; i < context.inputs().size(); ++i) {
    Tensor next = visit_number(context, y.dtype(), [&]<class T>(T) {
      return combine<T, T, T>(context, y, context.input(i), f);
    });
    if (i > 1) context.unmake(y);
    y = std::move(next);
  }
  return {y};
}

constexpr auto kPlus = [](auto a, auto b) { return plus(a, b); };

// Integer results are truncated toward zero and saturate.
template <class T, class E>
T power(T x, E exponent) {
  if constexpr (std::is_same_v<T, float> && std::is_same_v<E, float>) {
    return std::pow(x, exponent);
  } else {
    const double y =
        std::pow(static_cast<double>(x), static_cast<double>(exponent));
    if constexpr (std::is_same_v<T, float>) return static_cast<T>(y);
    return saturated<T>(std::trunc(y));
  }
}

Values div(const NodeContext& context) {
  return binary(context, [&]<class T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) context.refuse("divisor must not be 0");
      // Dividing the lowest integer by -1 overflows; minus() wraps around.
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return minus(T{}, a);
    }
    return static_cast<T>(a / b);
  });
}

// The remainder has the sign of the divisor or, with the attribute fmod, of the
// dividend. Source: ONNX Mod-10; numpy.mod.
Values mod(const NodeContext& context) {
  const bool truncates = context.integer("fmod", 0) != 0;
  return binary(context, [&]<class T>(T a, T b) -> T {
    if constexpr (std::is_integral_v<T>) {
      if (b == 0) context.refuse("divisor must not be 0");
      if (std::is_signed_v<T> && b == static_cast<T>(-1)) return 0;
      const T rest = static_cast<T>(a % b);
      const bool adjusts = !truncates && rest != 0 && (rest < 0) != (b < 0);
      return adjusts ? static_cast<T>(rest + b) : rest;
    } else {
      const T rest = std::fmod(a, b);
      if (truncates) return rest;
      if (rest == 0) return std::copysign(T{0}, b);
      return (rest < 0) != (b < 0) ? rest + b : rest;
    }
  });
}

Values pow(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& exponent = context.input(1);
  return {visit<float, int32_t, int64_t>(context, x.dtype(), [&]<class T>(T) {
    return visit_number(context, exponent.dtype(), [&]<class E>(E) {
      return combine<T, T, E>(context, x, exponent, power<T, E>);
    });
  })};
}

Values mean(const NodeContext& context) {
  const Values sum = folded<kPlus>(context);
  const Tensor count =
      Tensor::scalar(static_cast<float>(context.inputs().size()));
  return {combine<float, float, float>(context, sum[0], count,
                                       [](float a, float b) { return a / b; })};
}

}  // namespace

Operators arithmetic_operators() {
  constexpr auto kLarger = [](auto a, auto b) { return larger(a, b); };
  constexpr auto kSmaller = [](auto a, auto b) { return smaller(a, b); };
  static constexpr NamedOperator kOperators[] = {
      {"Add", binary<kPlus>},
      {"Sub", binary<[](auto a, auto b) { return minus(a, b); }>},
      {"Mul", binary<[](auto a, auto b) { return times(a, b); }>},
      {"Div", div},
      {"Mod", mod},
      {"Pow", pow},
      {"Sum", folded<kPlus>},
      {"Mean", mean},
      {"Max", folded<kLarger>},
      {"Min", folded<kSmaller>},
  };
  return kOperators;
}

}  // namespace octet::io::run
