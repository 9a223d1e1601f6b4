#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_max_pool2d(std::vector<GradientCase>& cases) {
  struct Pool {
    Shape x;
    Size2 window;
    WindowOptions o;
  };
  const std::vector<Pool> pools = {
      {{1, 1, 1, 1}, {1, 1}, {}},
      {{2, 6, 4, 3}, {2, 2}, {.strides{2, 2}}},
      {{1, 7, 5, 17}, {3, 2}, {.strides{2, 1}}},
      {{2, 5, 6, 33}, {3, 3}, {.strides{2, 2}, .pads{1, 1, 0, 1}}},
  };
  for (const Pool& p : pools) {
    cases.push_back(
        {"max_pool2d",
         dims(p.x) + "_" + text(p.o),
         {p.x},
         [p](const Variables& v) { return max_pool2d(v[0], p.window, p.o); },
         [p](const Arrays& a) {
           return reference::max_pool2d(a[0], p.window, p.o);
         }});
  }
}

}  // namespace

void add_pooling_cases(std::vector<GradientCase>& cases) {
  add_max_pool2d(cases);
}

}  // namespace octet
