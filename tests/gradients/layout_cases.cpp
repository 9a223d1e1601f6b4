#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_reshape(std::vector<GradientCase>& cases) {
  cases.push_back({"reshape",
                   "2x3x4x5",
                   {{2, 3, 4, 5}},
                   [](const Variables& v) {
                     return reshape(v[0], {2, Shape::kAnySize});
                   },
                   [](const Arrays& a) {
                     Array y({2, 60});
                     y.values = a[0].values;
                     return y;
                   }});
}

}  // namespace

void add_layout_cases(std::vector<GradientCase>& cases) { add_reshape(cases); }

}  // namespace octet
