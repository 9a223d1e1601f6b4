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

// [...,m,k] or its transpose.
Shape factor(const Shape& batch, int64_t rows, int64_t columns, bool turned) {
  std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
  dims.push_back(turned ? columns : rows);
  dims.push_back(turned ? rows : columns);
  return Shape(std::span<const int64_t>(dims));
}

void add_matmul(std::vector<GradientCase>& cases) {
  struct Size {
    Shape a_batch, b_batch;
    int64_t m, k, n;
  };
  const std::vector<Size> sizes = {{{}, {}, 1, 1, 1},
                                   {{}, {}, 7, 13, 5},
                                   {{}, {}, 3, 600, 2},
                                   {{}, {}, 67, 3, 37},
                                   {{1}, {1}, 5, 3, 17},
                                   {{2, 3}, {2, 3}, 4, 5, 7},
                                   {{17}, {17}, 3, 2, 5},
                                   {{3}, {}, 5, 7, 2},
                                   {{}, {3}, 2, 3, 5},
                                   {{2, 1}, {3}, 3, 5, 2},
                                   {{2, 1, 2}, {1, 3, 1}, 2, 3, 2}};
  for (const Size& s : sizes) {
    for (const bool ta : {false, true}) {
      for (const bool tb : {false, true}) {
        const MatmulOptions options{ta, tb};
        const Shape a = factor(s.a_batch, s.m, s.k, ta);
        const Shape b = factor(s.b_batch, s.k, s.n, tb);
        cases.push_back(
            {"matmul",
             dims(a) + (ta ? "_t_" : "_by_") + dims(b) + (tb ? "_t" : ""),
             {a, b},
             [options](const Variables& v) {
               return matmul(v[0], v[1], options);
             },
             [options](const Arrays& x) {
               return reference::matmul(x[0], x[1], options);
             }});
      }
    }
  }
}

}  // namespace

void add_dense_cases(std::vector<GradientCase>& cases) {
  add_dense(cases);
  add_matmul(cases);
}

}  // namespace octet
