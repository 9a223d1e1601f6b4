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
      {{2, 7, 9, 17},
       {2, 3},
       {.strides{2, 1}, .dilation{3, 2}, .pads{1, 2, 3, 0}}},
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

void add_avg_pool2d(std::vector<GradientCase>& cases) {
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
      {{1, 2, 3, 1}, {4, 5}, {.pads{1, 2, 2, 2}}},
  };
  for (const Pool& p : pools) {
    cases.push_back(
        {"avg_pool2d",
         dims(p.x) + "_" + text(p.o),
         {p.x},
         [p](const Variables& v) { return avg_pool2d(v[0], p.window, p.o); },
         [p](const Arrays& a) {
           return reference::avg_pool2d(a[0], p.window, p.o);
         }});
  }
  // A deferred input, and a gradient that passes a mask.
  cases.push_back({"avg_pool2d",
                   "of_relu",
                   {{3, 4, 6, 17}, {17}},
                   [](const Variables& v) {
                     return avg_pool2d(relu(bias_add(v[0], v[1])), {2, 3},
                                       {.strides{2, 2}});
                   },
                   [](const Arrays& a) {
                     const Array h = reference::relu(
                         reference::bias_add(a[0], a[1]), 1e300);
                     return reference::avg_pool2d(h, {2, 3}, {.strides{2, 2}});
                   }});
}

}  // namespace

void add_pooling_cases(std::vector<GradientCase>& cases) {
  add_max_pool2d(cases);
  add_avg_pool2d(cases);
}

}  // namespace octet
