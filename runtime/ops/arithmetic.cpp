#include <cmath>
#include <functional>
#include <numbers>
#include <utility>

#include <octet/runtime/ops.h>

#include "elementwise.h"
#include "tensor/broadcast.h"

namespace octet {
namespace {

// Required gradients of a binary op.
struct Needs {
  bool x, y;
  Needs(const Variable& a, const Variable& b)
      : x(a.requires_grad()), y(b.requires_grad()) {}
};

Tensor value_if(bool read, const Variable& x) {
  return read ? x.value() : Tensor();
}

}  // namespace

Variable subtract(const Variable& x, const Variable& y) {
  const Broadcast plan("subtract", x.shape(), y.shape());
  const Variable traced =
      offer_elementwise("subtract", x, y, plan.shape(), std::minus<>());
  if (traced) return traced;
  const Tensor difference = combine(plan, {}, x.value(), y.value(),
                                    [](float a, float b) { return a - b; });
  return record("subtract", {x, y}, difference, {},
                [needs = Needs(x, y)](const Tensor& dy) {
                  const Broadcast same("subtract", dy.shape(), {});
                  Tensor negative;
                  if (needs.y) {
                    negative = combine(same, {}, dy, Tensor::scalar(0),
                                       [](float g, float) { return -g; });
                  }
                  return std::vector{dy, negative};
                });
}

Variable multiply(const Variable& x, const Variable& y) {
  const Broadcast plan("multiply", x.shape(), y.shape());
  const Variable traced =
      offer_elementwise("multiply", x, y, plan.shape(), std::multiplies<>());
  if (traced) return traced;
  const Tensor product = combine(plan, {}, x.value(), y.value(),
                                 [](float a, float b) { return a * b; });
  const Needs needs(x, y);
  return record(
      "multiply", {x, y}, product, {value_if(needs.y, x), value_if(needs.x, y)},
      [x = x.value(), y = y.value(), plan, needs](const Tensor& dz) {
        std::vector<Tensor> gradients(2);
        if (needs.x) {
          gradients[0] = combine(plan, dz, x, y,
                                 [](float g, float, float b) { return g * b; });
        }
        if (needs.y) {
          gradients[1] = combine(plan, dz, x, y,
                                 [](float g, float a, float) { return g * a; });
        }
        return gradients;
      });
}

Variable divide(const Variable& x, const Variable& y) {
  const Broadcast plan("divide", x.shape(), y.shape());
  const Variable traced =
      offer_elementwise("divide", x, y, plan.shape(), std::divides<>());
  if (traced) return traced;
  const Tensor quotient = combine(plan, {}, x.value(), y.value(),
                                  [](float a, float b) { return a / b; });
  const Needs needs(x, y);
  return record(
      "divide", {x, y}, quotient, {value_if(needs.y, x), y.value()},
      [x = x.value(), y = y.value(), plan, needs](const Tensor& dz) {
        std::vector<Tensor> gradients(2);
        if (needs.x) {
          gradients[0] = combine(plan, dz, x, y,
                                 [](float g, float, float b) { return g / b; });
        }
        if (needs.y) {
          gradients[1] = combine(plan, dz, x, y, [](float g, float a, float b) {
            return -g * (a / b) / b;
          });
        }
        return gradients;
      });
}

namespace {

// The operand with the larger sign * value.
template <int Sign>
Variable extreme(const char* name, const Variable& x, const Variable& y) {
  const Broadcast plan(name, x.shape(), y.shape());
  const auto wins = [](float a, float b) { return Sign * a > Sign * b; };
  const auto larger = [wins](float a, float b) {
    return wins(a, b) || a != a ? a : b;
  };
  const Variable traced = offer_elementwise(name, x, y, plan.shape(), larger);
  if (traced) return traced;
  const Tensor result = combine(plan, {}, x.value(), y.value(), larger);
  return record(
      name, {x, y}, result, {x.value(), y.value()},
      [x = x.value(), y = y.value(), plan, wins](const Tensor& dz) {
        return std::vector{
            combine(plan, dz, x, y,
                    [wins](float g, float a, float b) {
                      return wins(a, b) ? g : a == b ? g / 2 : 0.0f;
                    }),
            combine(plan, dz, x, y, [wins](float g, float a, float b) {
              return wins(b, a) ? g : a == b ? g / 2 : 0.0f;
            })};
      });
}

// y = f(x), dx = df(dy, x). `linear`: df ignores x, which is not saved.
template <class F, class G>
Variable unary(const char* name, const Variable& x, F f, G df,
               bool linear = false,
               const inference::Attributes& attributes = {}) {
  const auto of_value = [f](float v, float) { return f(v); };
  const Variable traced = offer_unary(name, x, of_value, attributes);
  if (traced) return traced;
  const Broadcast plan(name, x.shape(), {});
  const Tensor none = Tensor::scalar(0);
  const Tensor y = combine(plan, {}, x.value(), none, of_value);
  return record(name, {x}, y, {value_if(!linear, x)},
                [x = x.value(), plan, none, df](const Tensor& dy) {
                  return std::vector{combine(
                      plan, dy, x, none,
                      [df](float g, float v, float) { return df(g, v); })};
                });
}

}  // namespace

Variable maximum(const Variable& x, const Variable& y) {
  return extreme<1>("maximum", x, y);
}

Variable minimum(const Variable& x, const Variable& y) {
  return extreme<-1>("minimum", x, y);
}

Variable scale_shift(const Variable& x, float scale, float shift) {
  return unary(
      "scale_shift", x, [=](float v) { return scale * v + shift; },
      [=](float g, float) { return scale * g; }, true,
      inference::ScaleShift{scale, shift});
}

Variable negate(const Variable& x) {
  return unary(
      "negate", x, [](float v) { return -v; },
      [](float g, float) { return -g; }, true);
}

Variable absolute(const Variable& x) {
  return unary(
      "absolute", x, [](float v) { return std::fabs(v); },
      [](float g, float v) { return v > 0   ? g
                                    : v < 0 ? -g
                                            : 0.0f; });
}

Variable square(const Variable& x) {
  return unary(
      "square", x, [](float v) { return v * v; },
      [](float g, float v) { return 2 * v * g; });
}

Variable sqrt(const Variable& x) {
  return unary(
      "sqrt", x, [](float v) { return std::sqrt(v); },
      [](float g, float v) { return g / (2 * std::sqrt(v)); });
}

Variable log(const Variable& x) {
  return unary(
      "log", x, [](float v) { return std::log(v); },
      [](float g, float v) { return g / v; });
}

// In double precision: differences between CPUs in the last bits vanish in
// rounding to float.
Variable erf(const Variable& x) {
  return unary(
      "erf", x, [](float v) { return static_cast<float>(std::erf(double{v})); },
      [](float g, float v) {
        const double slope =
            2 * std::numbers::inv_sqrtpi * std::exp(-double{v} * double{v});
        return static_cast<float>(g * slope);
      });
}

Variable power(const Variable& x, float exponent) {
  const double n = exponent;
  return unary(
      "power", x,
      [n](float v) { return static_cast<float>(std::pow(double{v}, n)); },
      [n](float g, float v) {
        if (n == 0) return 0.0f;  // not 0 * infinity at 0
        return static_cast<float>(g * n * std::pow(double{v}, n - 1));
      });
}

Variable sin(const Variable& x) {
  return unary(
      "sin", x, [](float v) { return static_cast<float>(std::sin(double{v})); },
      [](float g, float v) {
        return static_cast<float>(g * std::cos(double{v}));
      });
}

Variable cos(const Variable& x) {
  return unary(
      "cos", x, [](float v) { return static_cast<float>(std::cos(double{v})); },
      [](float g, float v) {
        return static_cast<float>(-g * std::sin(double{v}));
      });
}

namespace {

// A piecewise constant function, without gradient.
template <class F>
Variable stepwise(const Variable& x, F f) {
  const auto of_value = [f](float v, float) { return f(v); };
  const Variable traced = offer_unary("steps", x, of_value);
  if (traced) return traced;
  const Broadcast plan("steps", x.shape(), {});
  return Variable(combine(plan, {}, x.value(), Tensor::scalar(0), of_value));
}

}  // namespace

Variable floor(const Variable& x) {
  return stepwise(x, [](float v) { return std::floor(v); });
}

Variable ceil(const Variable& x) {
  return stepwise(x, [](float v) { return std::ceil(v); });
}

Variable round(const Variable& x) {
  return stepwise(x, [](float v) { return std::nearbyint(v); });
}

Variable sign(const Variable& x) {
  return stepwise(x, [](float v) {
    return v > 0 ? 1.0f : v < 0 ? -1.0f : v + 0.0f;
  });
}

}  // namespace octet
