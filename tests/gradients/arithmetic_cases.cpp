#include <algorithm>
#include <cmath>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_sums(std::vector<GradientCase>& cases) {
  for (const Shape& x : pointwise_shapes()) {
    const Shape c{x[-1]};
    cases.push_back(
        {"bias_add",
         dims(x),
         {x, c},
         [](const Variables& v) { return bias_add(v[0], v[1]); },
         [](const Arrays& a) { return reference::bias_add(a[0], a[1]); }});
    cases.push_back(
        {"add",
         dims(x),
         {x, x},
         [](const Variables& v) { return add(v[0], v[1]); },
         [](const Arrays& a) { return reference::add(a[0], a[1]); }});
    cases.push_back(
        {"add",
         "to_itself_" + dims(x),
         {x},
         [](const Variables& v) { return add(v[0], v[0]); },
         [](const Arrays& a) { return reference::add(a[0], a[0]); }});
  }
}

struct Binary {
  const char* name;
  Variable (*apply)(const Variable& x, const Variable& y);
  double (*reference)(double x, double y);
};

// Divisors are 1 + y^2, composed of other ops, to stay away from 0.
Variable divide_by_positive(const Variable& x, const Variable& y) {
  return divide(x, scale_shift(square(y), 1, 1));
}

constexpr Binary kBinary[] = {
    {"add", add, [](double x, double y) { return x + y; }},
    {"subtract", subtract, [](double x, double y) { return x - y; }},
    {"multiply", multiply, [](double x, double y) { return x * y; }},
    {"divide", divide_by_positive,
     [](double x, double y) { return x / (1 + y * y); }},
    {"maximum", maximum, [](double x, double y) { return std::max(x, y); }},
    {"minimum", minimum, [](double x, double y) { return std::min(x, y); }},
    {"where",
     [](const Variable& x, const Variable& y) {
       // Two functions that cross without a kink.
       const Variable above = add(square(subtract(x, y)), y);
       return where(compare(Comparison::greater, x, y), above, y);
     },
     [](double x, double y) { return x > y ? (x - y) * (x - y) + y : y; }},
};

// All broadcasting patterns: a single run, scalars, vectors, images by pixel or
// by channel, both operands repeating, different ranks, and a case large enough
// to be split.
const std::vector<std::pair<Shape, Shape>>& broadcast_shapes() {
  static const std::vector<std::pair<Shape, Shape>> shapes{
      {{2, 3, 5, 17}, {2, 3, 5, 17}},
      {{2, 1, 1, 17}, {2, 3, 5, 17}},
      {{2, 3, 5, 17}, {17}},
      {{1}, {2, 3, 5, 17}},
      {{3, 1}, {1, 4}},
      {{2, 3, 5, 1}, {3, 1, 17}},
      {{}, {3, 2}},
      {{1, 1, 1}, {1}},
      {{2, 45, 20, 17}, {2, 1, 1, 17}},
      {{40, 33, 17}, {33, 1}},
  };
  return shapes;
}

void add_binary(std::vector<GradientCase>& cases) {
  for (const Binary& op : kBinary) {
    for (const auto& [x, y] : broadcast_shapes()) {
      const std::string shapes = dims(x) + "_with_" + dims(y);
      cases.push_back(
          {op.name,
           shapes,
           {x, y},
           [op](const Variables& v) { return op.apply(v[0], v[1]); },
           [op](const Arrays& a) {
             return reference::combine(a[0], a[1], op.reference);
           }});
    }
    // The same variable on both sides.
    if (std::string(op.name) == "maximum") continue;  // a kink everywhere
    if (std::string(op.name) == "minimum") continue;
    cases.push_back({op.name,
                     "of_itself",
                     {{2, 3, 5, 3}},
                     [op](const Variables& v) { return op.apply(v[0], v[0]); },
                     [op](const Arrays& a) {
                       return reference::combine(a[0], a[0], op.reference);
                     }});
  }
}

struct Unary {
  const char* name;
  Variable (*apply)(const Variable& x);
  double (*reference)(double x);
};

constexpr Unary kUnary[] = {
    {"scale_shift",
     [](const Variable& x) { return scale_shift(x, -2.5f, 0.75f); },
     [](double x) { return -2.5 * x + 0.75; }},
    {"negate", negate, [](double x) { return -x; }},
    {"absolute", absolute, [](double x) { return std::fabs(x); }},
    {"square", square, [](double x) { return x * x; }},
    // Values of at least 1/2.
    {"sqrt",
     [](const Variable& x) { return sqrt(scale_shift(square(x), 1, 0.5f)); },
     [](double x) { return std::sqrt(x * x + 0.5); }},
    {"log",
     [](const Variable& x) { return log(scale_shift(square(x), 1, 0.5f)); },
     [](double x) { return std::log(x * x + 0.5); }},
    {"erf", erf, [](double x) { return std::erf(x); }},
    {"sin", [](const Variable& x) { return octet::sin(x); },
     [](double x) { return std::sin(x); }},
    {"cos", [](const Variable& x) { return octet::cos(x); },
     [](double x) { return std::cos(x); }},
    {"power", [](const Variable& x) { return power(x, 3); },
     [](double x) { return x * x * x; }},
    // Values of at least 1/2.
    {"power_of_positive",
     [](const Variable& x) {
       return power(scale_shift(square(x), 1, 0.5f), -1.25f);
     },
     [](double x) { return std::pow(x * x + 0.5, -1.25); }},
};

void add_unary(std::vector<GradientCase>& cases) {
  for (const Unary& op : kUnary) {
    for (const Shape& x : pointwise_shapes()) {
      cases.push_back({op.name,
                       dims(x),
                       {x},
                       [op](const Variables& v) { return op.apply(v[0]); },
                       [op](const Arrays& a) {
                         return reference::map(a[0], op.reference);
                       }});
    }
  }
}

}  // namespace

void add_arithmetic_cases(std::vector<GradientCase>& cases) {
  add_sums(cases);
  add_binary(cases);
  add_unary(cases);
}

}  // namespace octet
