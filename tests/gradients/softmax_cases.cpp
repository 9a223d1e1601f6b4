#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_axes(std::vector<GradientCase>& cases) {
  const std::vector<std::pair<Shape, int>> shapes = {
      {{5}, 0},           {{3, 7}, 0},        {{2, 5, 3}, 1}, {{2, 3, 1, 4}, 2},
      {{2, 3, 4, 17}, 1}, {{2, 3, 4, 17}, 3}, {{3, 2, 67}, 2}};
  for (const auto& [x, axis] : shapes) {
    cases.push_back(
        {"softmax",
         dims(x) + "_axis" + std::to_string(axis),
         {x},
         [axis = axis](const Variables& v) { return softmax(v[0], axis); },
         [axis = axis](const Arrays& a) {
           return reference::softmax_along(a[0], axis);
         }});
  }
}

}  // namespace

void add_softmax_cases(std::vector<GradientCase>& cases) { add_axes(cases); }

}  // namespace octet
