#include <limits>

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

}  // namespace

void add_activation_cases(std::vector<GradientCase>& cases) { add_relu(cases); }

}  // namespace octet
