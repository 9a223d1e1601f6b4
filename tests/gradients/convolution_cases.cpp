#include <limits>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

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

void add_grouped_conv2d(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    int64_t groups;
    WindowOptions o;
  };
  const std::vector<Conv> convs = {
      {{2, 5, 4, 4}, {3, 3, 2, 6}, 2, {.pads{1, 1, 1, 1}}},
      {{1, 6, 8, 6}, {3, 2, 2, 3}, 3, {.strides{2, 2}, .pads{0, 1, 0, 1}}},
      {{2, 7, 5, 34}, {1, 1, 17, 66}, 2, {}},
      {{1, 7, 9, 4}, {3, 3, 2, 36}, 2, {.strides{2, 1}, .dilation{1, 2}}},
      {{3, 4, 5, 6}, {2, 2, 3, 4}, 2, {.pads{0, 1, 1, 0}}},
      {{2, 5, 6, 17}, {3, 3, 1, 17}, 17, {.pads{1, 1, 1, 1}}},
      {{1, 5, 4, 3}, {3, 2, 1, 9}, 3, {.strides{1, 2}}},
  };
  for (const Conv& c : convs) {
    cases.push_back(
        {"conv2d",
         dims(c.x) + "_k" + dims(c.kernel) + "_g" + std::to_string(c.groups) +
             "_" + text(c.o),
         {c.x, c.kernel},
         [c](const Variables& v) { return conv2d(v[0], v[1], c.o, c.groups); },
         [c](const Arrays& a) {
           return reference::conv2d(a[0], a[1], c.o, c.groups);
         }});
  }
}

void add_conv2d_transpose(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    Size2 output;
    WindowOptions o;
    int64_t groups = 1;
  };
  const std::vector<Conv> convs = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {1, 1}, {}},
      {{2, 3, 4, 3}, {3, 3, 5, 3}, {5, 6}, {}},
      {{2, 3, 4, 2}, {3, 3, 4, 2}, {3, 4}, {.pads{1, 1, 1, 1}}},
      {{1, 3, 2, 17}, {3, 2, 33, 17}, {7, 5}, {.strides{2, 2}}},
      {{2, 3, 4, 3}, {3, 3, 2, 3}, {6, 8}, {.strides{2, 2}, .pads{0, 1, 0, 1}}},
      {{3, 2, 3, 4}, {2, 2, 16, 4}, {4, 6}, {.strides{2, 2}}},
      {{1, 2, 3, 2}, {3, 4, 3, 2}, {7, 10}, {.strides{3, 3}}},
      {{2, 2, 3, 3}, {2, 1, 2, 3}, {6, 9}, {.strides{3, 3}}},
      {{1, 4, 3, 2}, {3, 2, 3, 2}, {8, 9}, {.strides{1, 3}, .dilation{2, 2}}},
      {{1, 1, 2, 1}, {5, 3, 2, 1}, {2, 5}, {.strides{2, 3}, .pads{2, 2, 0, 1}}},
      {{2, 3, 2, 6}, {3, 2, 2, 6}, {7, 5}, {.strides{2, 2}}, 3},
      {{1, 2, 3, 34}, {2, 3, 1, 34}, {4, 7}, {.strides{2, 2}}, 34},
      {{1, 4, 3, 2},
       {3, 2, 17, 2},
       {8, 9},
       {.strides{1, 3}, .dilation{2, 2}},
       2},
  };
  for (const Conv& c : convs) {
    cases.push_back({"conv2d_transpose",
                     dims(c.x) + "_k" + dims(c.kernel) + "_to" +
                         dims({c.output.h, c.output.w}) + "_" + text(c.o) +
                         (c.groups == 1 ? "" : "_g" + std::to_string(c.groups)),
                     {c.x, c.kernel},
                     [c](const Variables& v) {
                       return conv2d_transpose(v[0], v[1], c.output, c.o,
                                               c.groups);
                     },
                     [c](const Arrays& a) {
                       return reference::conv2d_transpose(a[0], a[1], c.output,
                                                          c.o, c.groups);
                     }});
  }
}

void add_depthwise_conv2d(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    WindowOptions o;
  };
  const WindowOptions same3{.pads = {1, 1, 1, 1}};
  const std::vector<Conv> convs = {
      {{1, 1, 1, 1}, {1, 1, 1, 1}, {}},
      {{2, 5, 7, 1}, {3, 3, 1, 1}, same3},
      {{2, 5, 4, 3}, {3, 3, 3, 1}, same3},
      {{2, 3, 22, 17}, {3, 3, 17, 1}, same3},
      {{1, 4, 17, 33}, {3, 3, 33, 1}, same3},
      {{2, 6, 8, 12}, {3, 3, 12, 1}, {.strides{2, 2}, .pads{0, 1, 0, 1}}},
      {{1, 9, 7, 16}, {3, 3, 16, 1}, {.strides{2, 2}, .pads{1, 1, 1, 1}}},
      {{2, 5, 6, 5}, {1, 1, 5, 1}, {}},
      {{2, 5, 5, 3}, {1, 1, 3, 1}, {.strides{2, 2}}},
      {{1, 7, 5, 3}, {2, 4, 3, 1}, {.pads{0, 1, 1, 2}}},
      {{3, 7, 9, 2}, {3, 3, 2, 1}, {.dilation{2, 2}, .pads{2, 2, 2, 2}}},
      {{1, 9, 8, 4}, {3, 2, 4, 1}, {.strides{2, 3}, .dilation{1, 2}}},
      {{1, 2, 3, 8}, {5, 5, 8, 1}, {.pads{2, 2, 2, 2}}},
      {{19, 3, 2, 8}, {3, 3, 8, 1}, same3},
      {{2, 5, 4, 3}, {3, 3, 3, 3}, same3},
      {{1, 6, 5, 1}, {3, 3, 1, 3}, {.strides{2, 2}, .pads{0, 1, 1, 1}}},
      {{2, 5, 6, 17}, {2, 2, 17, 2}, {.dilation{1, 2}}},
  };
  for (const Conv& c : convs) {
    cases.push_back(
        {"depthwise_conv2d",
         dims(c.x) + "_k" + dims(c.kernel) + "_" + text(c.o),
         {c.x, c.kernel},
         [c](const Variables& v) { return depthwise_conv2d(v[0], v[1], c.o); },
         [c](const Arrays& a) {
           return reference::depthwise_conv2d(a[0], a[1], c.o);
         }});
  }
}

// Between pointwise ops: the gradient passes a fused mask, and the convolution
// computes the statistics.
void add_deferred_depthwise(std::vector<GradientCase>& cases) {
  for (const int64_t m : {1, 2}) {
    cases.push_back(
        {"",
         "relu_depthwise_batch_norm_m" + std::to_string(m),
         {{3, 5, 7, 11}, {11}, {3, 3, 11, m}, {11 * m}, {11 * m}},
         [](const Variables& v) {
           Tensor mean = Tensor::zeros(v[3].shape());
           Tensor variance = Tensor::full(v[3].shape(), 1);
           const Variable y = relu(bias_add(v[0], v[1]));
           const Variable z = depthwise_conv2d(y, v[2], {.pads{1, 1, 1, 1}});
           return batch_norm_training(z, v[3], v[4], mean.f32(), variance.f32(),
                                      0.9f, 1e-3f);
         },
         [](const Arrays& a) {
           const Array y =
               reference::relu(reference::bias_add(a[0], a[1]), kInfinity);
           return reference::batch_norm_training(
               reference::depthwise_conv2d(y, a[2], {.pads{1, 1, 1, 1}}), a[3],
               a[4], 1e-3f);
         }});
  }
  cases.push_back({"",
                   "relu_grouped_conv2d_batch_norm",
                   {{2, 5, 7, 6}, {6}, {3, 3, 3, 10}, {10}, {10}},
                   [](const Variables& v) {
                     Tensor mean = Tensor::zeros(v[3].shape());
                     Tensor variance = Tensor::full(v[3].shape(), 1);
                     const Variable y = relu(bias_add(v[0], v[1]));
                     return batch_norm_training(
                         conv2d(y, v[2], {.strides{2, 1}}, 2), v[3], v[4],
                         mean.f32(), variance.f32(), 0.9f, 1e-3f);
                   },
                   [](const Arrays& a) {
                     const Array y = reference::relu(
                         reference::bias_add(a[0], a[1]), kInfinity);
                     return reference::batch_norm_training(
                         reference::conv2d(y, a[2], {.strides{2, 1}}, 2), a[3],
                         a[4], 1e-3f);
                   }});
  cases.push_back(
      {"",
       "relu_conv2d_transpose_batch_norm",
       {{2, 3, 4, 6}, {6}, {3, 3, 5, 6}, {5}, {5}},
       [](const Variables& v) {
         Tensor mean = Tensor::zeros(v[3].shape());
         Tensor variance = Tensor::full(v[3].shape(), 1);
         const Variable y = relu(bias_add(v[0], v[1]));
         return batch_norm_training(
             conv2d_transpose(y, v[2], {7, 9}, {.strides{2, 2}}), v[3], v[4],
             mean.f32(), variance.f32(), 0.9f, 1e-3f);
       },
       [](const Arrays& a) {
         const Array y =
             reference::relu(reference::bias_add(a[0], a[1]), kInfinity);
         return reference::batch_norm_training(
             reference::conv2d_transpose(y, a[2], {7, 9}, {.strides{2, 2}}),
             a[3], a[4], 1e-3f);
       }});
}

}  // namespace

void add_convolution_cases(std::vector<GradientCase>& cases) {
  add_conv2d(cases);
  add_grouped_conv2d(cases);
  add_conv2d_transpose(cases);
  add_depthwise_conv2d(cases);
  add_deferred_depthwise(cases);
}

}  // namespace octet
