#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

void add_relu(std::vector<GradientCase>& cases) {
  for (const Shape& x : pointwise_shapes()) {
    cases.push_back(
        {"relu",
         dims(x),
         {x},
         [](const Variables& v) { return relu(v[0]); },
         [](const Arrays& a) { return reference::relu(a[0], kInfinity); }});
    cases.push_back(
        {"relu",
         "below_half_" + dims(x),
         {x},
         [](const Variables& v) { return relu(v[0], 0.5f); },
         [](const Arrays& a) { return reference::relu(a[0], 0.5); }});
  }
}

struct Pointwise {
  const char* name;
  const char* variant;
  Variable (*apply)(const Variable& x);
  double (*reference)(double x);
};

constexpr double kSeluAlpha = 1.6732632423543772;
constexpr double kSeluScale = 1.0507009873554805;

constexpr Pointwise kFunctions[] = {
    {"relu", "leaky_below_1_above_a_quarter",
     [](const Variable& x) {
       return relu(
           x, {.max_value = 1, .negative_slope = 0.2f, .threshold = 0.25f});
     },
     [](double x) {
       return x > 0.25 ? std::min(x, 1.0) : double{0.2f} * (x - 0.25);
     }},
    {"leaky_relu", "", [](const Variable& x) { return leaky_relu(x, 0.3f); },
     [](double x) { return x > 0 ? x : double{0.3f} * x; }},
    {"elu", "", [](const Variable& x) { return elu(x, 0.5f); },
     [](double x) { return x > 0 ? x : 0.5 * std::expm1(x); }},
    {"selu", "", selu,
     [](double x) {
       return kSeluScale * (x > 0 ? x : kSeluAlpha * std::expm1(x));
     }},
    {"sigmoid", "", sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }},
    {"tanh", "", tanh, [](double x) { return std::tanh(x); }},
    {"swish", "", swish, [](double x) { return x / (1 + std::exp(-x)); }},
    {"gelu", "exact", [](const Variable& x) { return gelu(x); },
     [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }},
    {"gelu", "tanh_approximate",
     [](const Variable& x) { return gelu(x, GeluForm::tanh_approximate); },
     [](double x) {
       const double u =
           std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
       return x * (1 + std::tanh(u)) / 2;
     }},
    {"hard_sigmoid", "",
     [](const Variable& x) { return hard_sigmoid(scale_shift(x, 3)); },
     [](double x) { return std::clamp(3 * x + 3, 0.0, 6.0) / 6; }},
    {"hard_swish", "",
     [](const Variable& x) { return hard_swish(scale_shift(x, 3)); },
     [](double x) { return 3 * x * std::clamp(3 * x + 3, 0.0, 6.0) / 6; }},
    {"softplus", "", softplus,
     [](double x) { return std::log1p(std::exp(x)); }},
    {"softsign", "", softsign, [](double x) { return x / (1 + std::fabs(x)); }},
    {"exponential", "", exponential, [](double x) { return std::exp(x); }},
};

void add_functions(std::vector<GradientCase>& cases) {
  for (const Pointwise& f : kFunctions) {
    for (const Shape& x : pointwise_shapes()) {
      cases.push_back(
          {f.name,
           (*f.variant == 0 ? "" : std::string(f.variant) + "_") + dims(x),
           {x},
           [f](const Variables& v) { return f.apply(v[0]); },
           [f](const Arrays& a) { return reference::map(a[0], f.reference); }});
    }
  }
}

void add_prelu(std::vector<GradientCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> shapes{
      {{2, 3, 5, 17}, {3, 5, 17}},
      {{2, 3, 5, 17}, {1, 1, 17}},
      {{2, 3, 5, 3}, {3, 1, 1}},
      {{5, 16}, {16}},
      {{3, 4}, {1}},
  };
  for (const auto& [x, alpha] : shapes) {
    cases.push_back({"prelu",
                     dims(x) + "_with_" + dims(alpha),
                     {x, alpha},
                     [](const Variables& v) { return prelu(v[0], v[1]); },
                     [](const Arrays& a) {
                       return reference::combine(a[0], a[1],
                                                 [](double v, double slope) {
                                                   return v > 0 ? v : slope * v;
                                                 });
                     }});
  }
}

}  // namespace

void add_activation_cases(std::vector<GradientCase>& cases) {
  add_relu(cases);
  add_functions(cases);
  add_prelu(cases);
}

}  // namespace octet
