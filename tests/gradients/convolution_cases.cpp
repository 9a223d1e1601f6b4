#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

void add_conv2d(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    WindowOptions o;
  };
  const WindowOptions plain;
  const WindowOptions same3{.pads = {1, 1, 1, 1}};
  const std::vector<Conv> convs = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, plain},
      {{2, 5, 4, 3}, {3, 3, 3, 5}, same3},
      {{1, 5, 7, 1}, {3, 2, 1, 17}, plain},
      {{2, 6, 5, 17}, {1, 1, 17, 33}, plain},
      {{2, 6, 8, 2}, {3, 3, 2, 4}, {.strides{2, 2}, .pads{0, 1, 0, 1}}},
      {{1, 7, 5, 3}, {2, 4, 3, 2}, {.pads{0, 1, 1, 2}}},
      {{3, 7, 9, 2}, {3, 3, 2, 3}, {.dilation{2, 2}, .pads{2, 2, 2, 2}}},
      {{1, 9, 8, 2}, {3, 2, 2, 3}, {.strides{2, 3}, .dilation{1, 2}}},
      {{2, 5, 5, 3}, {1, 1, 3, 4}, {.strides{2, 2}}},
      {{1, 2, 3, 1}, {5, 5, 1, 2}, {.pads{2, 2, 2, 2}}},
      {{1, 3, 50, 16}, {3, 3, 16, 32}, same3},
      {{19, 3, 2, 4}, {3, 3, 4, 48}, same3},
      {{2, 9, 7, 3}, {2, 2, 3, 2}, {.strides{3, 3}}},
  };
  for (const Conv& c : convs) {
    cases.push_back(
        {"conv2d",
         dims(c.x) + "_k" + dims(c.kernel) + "_" + text(c.o),
         {c.x, c.kernel},
         [o = c.o](const Variables& v) { return conv2d(v[0], v[1], o); },
         [o = c.o](const Arrays& a) {
           return reference::conv2d(a[0], a[1], o);
         }});
  }
}

}  // namespace

void add_convolution_cases(std::vector<GradientCase>& cases) {
  add_conv2d(cases);
}

}  // namespace octet
