#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_dense(std::vector<GradientCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{1, 1}, {1, 1}},      {{3, 5}, {5, 10}},    {{2, 3, 4}, {4, 7}},
      {{17, 600}, {600, 3}}, {{40, 17}, {17, 33}}, {{2, 2, 3, 5}, {5, 2}}};
  for (const auto& [x, w] : shapes) {
    cases.push_back(
        {"dense",
         dims(x) + "_k" + dims(w),
         {x, w},
         [](const Variables& v) { return dense(v[0], v[1]); },
         [](const Arrays& a) { return reference::dense(a[0], a[1]); }});
  }
}

}  // namespace

void add_dense_cases(std::vector<GradientCase>& cases) { add_dense(cases); }

}  // namespace octet
