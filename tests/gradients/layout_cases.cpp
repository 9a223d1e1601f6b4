#include <cmath>

#include <fmt/format.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Index = std::vector<int64_t>;
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

void add_transpose(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, const std::vector<int>& axes) {
    cases.push_back({"transpose",
                     fmt::format("{}_to_{}", dims(x), fmt::join(axes, "")),
                     {x},
                     [=](const Variables& v) { return transpose(v[0], axes); },
                     [=](const Arrays& a) {
                       Shape y = x;
                       for (size_t i = 0; i < axes.size(); ++i) {
                         y = y.with(static_cast<int>(i), x[axes[i]]);
                       }
                       return reference::gather(a[0], y, [&](const Index& to) {
                         Index from(to.size());
                         for (size_t i = 0; i < to.size(); ++i) {
                           from[static_cast<size_t>(axes[i])] = to[i];
                         }
                         return from;
                       });
                     }});
  };
  add({2, 3, 4, 5}, {0, 3, 1, 2});
  add({2, 3, 4, 5}, {3, 1, 0, 2});
  add({4, 7}, {1, 0});
  add({2, 3, 17}, {0, 2, 1});
  add({1, 1, 1, 1}, {3, 2, 1, 0});
}

void add_concatenate(std::vector<GradientCase>& cases) {
  const auto add = [&](const std::vector<Shape>& inputs, int axis) {
    cases.push_back(
        {"concatenate",
         fmt::format("{}_axis{}{}", dims(inputs[0]), axis < 0 ? "m" : "",
                     axis < 0 ? -axis : axis),
         inputs, [=](const Variables& v) { return concatenate(v, axis); },
         [=](const Arrays& a) { return reference::concatenate(a, axis); }});
  };
  add({{2, 3, 4, 1}, {2, 3, 4, 17}, {2, 3, 4, 3}}, -1);
  add({{2, 3, 4, 2}, {2, 1, 4, 2}}, 1);
  add({{2, 3, 4, 2}, {2, 3, 2, 2}}, 2);
  add({{1, 3, 4, 2}, {2, 3, 4, 2}}, 0);
  add({{3, 5}, {3, 16}}, 1);
  add({{4}, {3}}, 0);
  add({{1, 2, 3, 4}}, -1);
  // Concatenates outputs of ReLU, one of them twice: deferred inputs, and two
  // gradient contributions from the same op.
  cases.push_back(
      {"concatenate",
       "of_relu",
       {{2, 3, 5, 17}, {2, 3, 5, 3}},
       [](const Variables& v) {
         const Variable h = relu(v[0]);
         return concatenate({h, relu(v[1], 0.5f), h}, 3);
       },
       [](const Arrays& a) {
         const Array h = reference::relu(a[0], 1e300);
         return reference::concatenate({h, reference::relu(a[1], 0.5), h}, 3);
       }});
}

void add_slice(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, int axis, int64_t first, int64_t count,
                       int64_t step = 1) {
    cases.push_back({"slice",
                     fmt::format("{}_axis{}_from{}{}", dims(x), axis, first,
                                 step == 1  ? ""
                                 : step < 0 ? "_backwards"
                                            : "_steps"),
                     {x},
                     [=](const Variables& v) {
                       return slice(v[0], axis, first, count, step);
                     },
                     [=](const Arrays& a) {
                       return reference::gather(
                           a[0], x.with(axis, count), [&](auto at) {
                             int64_t& place = at[static_cast<size_t>(axis)];
                             place = first + place * step;
                             return at;
                           });
                     }});
  };
  add({2, 3, 4, 17}, 3, 5, 9);
  add({2, 3, 4, 5}, 1, 2, 1);
  add({4, 3}, 0, 0, 3);
  add({5}, 0, 1, 4);
  add({2, 3, 17}, 2, 1, 4, 5);
  add({2, 5, 3, 2}, 1, 4, 3, -2);
}

void add_pads(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, const Pads& p) {
    const std::string name =
        fmt::format("{}_{}{}{}{}", dims(x), p.top, p.bottom, p.left, p.right);
    for (const float value : {0.0f, -2.5f}) {
      cases.push_back(
          {"pad2d",
           name + (value == 0 ? "" : "_value"),
           {x},
           [=](const Variables& v) { return pad2d(v[0], p, value); },
           [=](const Arrays& a) { return reference::pad2d(a[0], p, value); }});
    }
    const Shape padded{x[0], x[1] + p.top + p.bottom, x[2] + p.left + p.right,
                       x[3]};
    cases.push_back(
        {"crop2d",
         name,
         {padded},
         [=](const Variables& v) { return crop2d(v[0], p); },
         [=](const Arrays& a) {
           return reference::gather(a[0], x, [&](const Index& at) {
             return Index{at[0], at[1] + p.top, at[2] + p.left, at[3]};
           });
         }});
  };
  add({2, 3, 4, 17}, {1, 2, 0, 3});
  add({1, 4, 2, 3}, {0, 1, 1, 0});
  add({2, 1, 3, 1}, {0, 0, 0, 0});
  cases.push_back(
      {"pad2d",
       "of_relu",
       {{2, 3, 5, 17}},
       [](const Variables& v) {
         return pad2d(relu(v[0]), {1, 0, 2, 1}, 1);
       },
       [](const Arrays& a) {
         return reference::pad2d(reference::relu(a[0], 1e300), {1, 0, 2, 1}, 1);
       }});
}

void add_upsample2d(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, Size2 f) {
    const std::string name = fmt::format("{}_by{}{}", dims(x), f.h, f.w);
    cases.push_back(
        {"upsample2d",
         name + "_nearest",
         {x},
         [=](const Variables& v) { return upsample2d(v[0], f); },
         [=](const Arrays& a) {
           return reference::gather(
               a[0], {x[0], x[1] * f.h, x[2] * f.w, x[3]},
               [&](const Index& at) {
                 return Index{at[0], at[1] / f.h, at[2] / f.w, at[3]};
               });
         }});
    cases.push_back(
        {"upsample2d",
         name + "_bilinear",
         {x},
         [=](const Variables& v) {
           return upsample2d(v[0], f, Interpolation::bilinear);
         },
         [=](const Arrays& a) {
           return reference::resize2d_bilinear(a[0], {x[1] * f.h, x[2] * f.w});
         }});
  };
  add({2, 3, 4, 17}, {2, 2});
  add({1, 4, 2, 3}, {3, 1});
  add({2, 1, 3, 1}, {2, 5});
  add({1, 2, 3, 1}, {1, 1});
}

void add_gather(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, int axis,
                       const std::vector<int64_t>& indices) {
    cases.push_back(
        {"gather",
         fmt::format("{}_axis{}_{}", dims(x), axis, fmt::join(indices, "")),
         {x},
         [=](const Variables& v) { return gather(v[0], axis, indices); },
         [=](const Arrays& a) {
           const auto count = static_cast<int64_t>(indices.size());
           return reference::gather(
               a[0], x.with(axis, count), [&](const Index& at) {
                 Index from = at;
                 const auto place = static_cast<size_t>(axis);
                 from[place] = indices[static_cast<size_t>(at[place])];
                 return from;
               });
         }});
  };
  add({2, 5, 4, 3}, 1, {4, 0, 0, 2});
  add({1, 3, 2, 17}, 3, {16, 1, 1, 1, 0});
  add({3, 4}, 0, {2, 2, 1});
}

// Gradients of the table; rows without an index have none.
void add_embedding(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& table, const Shape& shape,
                       const std::vector<float>& indices) {
    cases.push_back(
        {"embedding",
         fmt::format("{}_at{}", dims(table), fmt::join(indices, "")),
         {table},
         [=](const Variables& v) {
           return embedding(Tensor::of<float>(shape, indices), v[0]);
         },
         [=](const Arrays& a) {
           std::vector<int64_t> sizes(shape.dims().begin(), shape.dims().end());
           sizes.push_back(table[1]);
           const Shape y{std::span<const int64_t>(sizes)};
           int64_t next = 0;
           return reference::gather(a[0], y, [&](const Index& at) {
             const auto place = static_cast<size_t>(next++ / table[1]);
             return Index{static_cast<int64_t>(indices[place]), at.back()};
           });
         }});
  };
  add({5, 3}, {2, 4}, {4, 0, 4, 4, 1, 2, 0, 4});
  add({1, 17}, {1, 1}, {0});
  add({3, 2}, {2, 2, 1}, {2, 2, 2, 0});
}

void add_resize2d(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, Size2 size) {
    const std::string name = fmt::format("{}_to{}x{}", dims(x), size.h, size.w);
    cases.push_back(
        {"resize2d",
         name + "_nearest",
         {x},
         [=](const Variables& v) {
           return resize2d(v[0], size,
                           {.interpolation = Interpolation::nearest});
         },
         [=](const Arrays& a) {
           // The pixel under the center.
           const auto under = [](int64_t i, int64_t from, int64_t to) {
             return static_cast<int64_t>(std::floor(
                 (static_cast<double>(i) + 0.5) * static_cast<double>(from) /
                 static_cast<double>(to)));
           };
           return reference::gather(
               a[0], {x[0], size.h, size.w, x[3]}, [&](const Index& at) {
                 return Index{at[0], under(at[1], x[1], size.h),
                              under(at[2], x[2], size.w), at[3]};
               });
         }});
    cases.push_back({"resize2d",
                     name + "_bilinear",
                     {x},
                     [=](const Variables& v) { return resize2d(v[0], size); },
                     [=](const Arrays& a) {
                       return reference::resize2d_bilinear(a[0], size);
                     }});
  };
  add({2, 5, 4, 3}, {3, 7});
  add({1, 2, 6, 17}, {5, 1});
  add({1, 3, 2, 1}, {3, 2});
}

void add_broadcast_to(std::vector<GradientCase>& cases) {
  const auto add = [&](const Shape& x, const Shape& y) {
    cases.push_back({"broadcast_to",
                     dims(x) + "_to_" + dims(y),
                     {x},
                     [=](const Variables& v) { return broadcast_to(v[0], y); },
                     [=](const Arrays& a) {
                       return reference::gather(a[0], y, [&](const Index& at) {
                         Index from(at.end() - x.rank(), at.end());
                         for (int axis = 0; axis < x.rank(); ++axis) {
                           if (x[axis] == 1)
                             from[static_cast<size_t>(axis)] = 0;
                         }
                         return from;
                       });
                     }});
  };
  add({2, 1, 1, 3}, {2, 4, 5, 3});
  add({17}, {3, 2, 17});
  add({3, 1}, {2, 3, 4});
  add({1, 4, 1}, {3, 4, 1});
  add({}, {2, 3});
}

}  // namespace

void add_layout_cases(std::vector<GradientCase>& cases) {
  add_reshape(cases);
  add_transpose(cases);
  add_concatenate(cases);
  add_slice(cases);
  add_pads(cases);
  add_upsample2d(cases);
  add_gather(cases);
  add_embedding(cases);
  add_resize2d(cases);
  add_broadcast_to(cases);
}

}  // namespace octet
