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

}  // namespace

void add_arithmetic_cases(std::vector<GradientCase>& cases) { add_sums(cases); }

}  // namespace octet
