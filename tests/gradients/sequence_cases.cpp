// Ops on sequences [n,l,c]. The reference treats them as single-row images.
#include <limits>

#include <fmt/format.h>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

Array with_shape(Array a, const Shape& shape) {
  a.shape = shape;
  return a;
}
// [n,l,c] to [n,1,l,c]; a kernel [kl,c,k] to [1,kl,c,k].
Array image(const Array& a) {
  const Shape& s = a.shape;
  return with_shape(a, {s[0], 1, s[1], s[2]});
}
Array kernel_image(const Array& a) {
  const Shape& s = a.shape;
  return with_shape(a, {1, s[0], s[1], s[2]});
}
Array sequence(const Array& a) {
  const Shape& s = a.shape;
  return with_shape(a, {s[0], s[2], s[3]});
}
WindowOptions over_image(const WindowOptions1D& o) {
  return {.strides{1, o.stride},
          .dilation{1, o.dilation},
          .pads{0, 0, o.pads.begin, o.pads.end}};
}

Array reference_conv1d(const Array& x, const Array& kernel,
                       const WindowOptions1D& o, int64_t groups = 1) {
  return sequence(
      reference::conv2d(image(x), kernel_image(kernel), over_image(o), groups));
}
Array reference_depthwise_conv1d(const Array& x, const Array& kernel,
                                 const WindowOptions1D& o) {
  return sequence(reference::depthwise_conv2d(image(x), kernel_image(kernel),
                                              over_image(o)));
}

std::string text(const WindowOptions1D& o) {
  return fmt::format("s{}_d{}_p{}{}", o.stride, o.dilation, o.pads.begin,
                     o.pads.end);
}

void add_conv1d(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    WindowOptions1D o = {};
    int64_t groups = 1;
  };
  const std::vector<Conv> convs = {
      {{1, 1, 1}, {1, 1, 1}},
      {{2, 9, 3}, {3, 3, 5}, {.pads = 1}},
      {{1, 40, 1}, {5, 1, 17}},
      {{2, 6, 17}, {1, 17, 33}},
      {{2, 8, 2}, {3, 2, 4}, {.stride = 2, .pads = {0, 1}}},
      {{3, 13, 2}, {3, 2, 3}, {.dilation = 4, .pads = {8, 0}}},
      {{1, 11, 3}, {4, 3, 2}, {.stride = 3, .dilation = 2, .pads = {1, 2}}},
      {{1, 2, 1}, {5, 1, 2}, {.pads = 2}},
      {{19, 5, 4}, {3, 4, 48}, {.pads = 1}},
      {{2, 5, 3}, {1, 3, 4}, {.stride = 2}},
      {{2, 7, 4}, {3, 2, 6}, {.pads = 1}, 2},
      {{1, 8, 6}, {2, 2, 3}, {.stride = 2}, 3},
      {{2, 6, 17}, {3, 1, 34}, {.pads = {2, 0}}, 17},
  };
  for (const Conv& c : convs) {
    cases.push_back(
        {"conv1d",
         dims(c.x) + "_k" + dims(c.kernel) + "_g" + std::to_string(c.groups) +
             "_" + text(c.o),
         {c.x, c.kernel},
         [c](const Variables& v) { return conv1d(v[0], v[1], c.o, c.groups); },
         [c](const Arrays& a) {
           return reference_conv1d(a[0], a[1], c.o, c.groups);
         }});
  }
}

void add_depthwise_conv1d(std::vector<GradientCase>& cases) {
  struct Conv {
    Shape x, kernel;
    WindowOptions1D o = {};
  };
  const std::vector<Conv> convs = {
      {{1, 1, 1}, {1, 1, 1}},
      {{2, 9, 3}, {3, 3, 1}, {.pads = 1}},
      {{1, 12, 17}, {4, 17, 1}, {.stride = 3, .pads = {1, 2}}},
      {{2, 7, 1}, {3, 1, 3}},
      {{3, 10, 5}, {2, 5, 2}, {.dilation = 3}},
  };
  for (const Conv& c : convs) {
    cases.push_back(
        {"depthwise_conv1d",
         dims(c.x) + "_k" + dims(c.kernel) + "_" + text(c.o),
         {c.x, c.kernel},
         [c](const Variables& v) { return depthwise_conv1d(v[0], v[1], c.o); },
         [c](const Arrays& a) {
           return reference_depthwise_conv1d(a[0], a[1], c.o);
         }});
  }
}

// Building blocks of sequence networks: gradients pass masks, and the sums
// provide statistics.
void add_sequence_blocks(std::vector<GradientCase>& cases) {
  cases.push_back(
      {"",
       "relu_pad1d_conv1d_batch_norm",
       {{3, 9, 6}, {6}, {3, 6, 10}, {10}, {10}},
       [](const Variables& v) {
         Tensor mean = Tensor::zeros(v[3].shape());
         Tensor variance = Tensor::full(v[3].shape(), 1);
         const Variable y = pad1d(relu(bias_add(v[0], v[1])), {2, 0});
         return batch_norm_training(conv1d(y, v[2], {.stride = 2}), v[3], v[4],
                                    mean.f32(), variance.f32(), 0.9f, 1e-3f);
       },
       [](const Arrays& a) {
         const Array y =
             reference::relu(reference::bias_add(a[0], a[1]), kNoLimit);
         return reference::batch_norm_training(
             reference_conv1d(y, a[2], {.stride = 2, .pads = {2, 0}}), a[3],
             a[4], 1e-3f);
       }});
  cases.push_back(
      {"",
       "relu_depthwise_conv1d_avg_pool1d_mean",
       {{2, 11, 5}, {5}, {3, 5, 2}},
       [](const Variables& v) {
         const Variable y = relu(bias_add(v[0], v[1]));
         const Variable z = relu(depthwise_conv1d(y, v[2], {.pads = 1}));
         return mean(avg_pool1d(z, 3, {.stride = 2}), {1});
       },
       [](const Arrays& a) {
         const Array y =
             reference::relu(reference::bias_add(a[0], a[1]), kNoLimit);
         const Array z = reference::relu(
             reference_depthwise_conv1d(y, a[2], {.pads = 1}), kNoLimit);
         const Array pooled =
             reference::avg_pool2d(image(z), {1, 3}, {.strides = {1, 2}});
         const Array kept =
             reference::reduce(sequence(pooled), {1}, [](const auto& values) {
               double sum = 0;
               for (const double value : values) sum += value;
               return sum / static_cast<double>(values.size());
             });
         return with_shape(kept, {kept.shape[0], kept.shape[2]});
       }});
}

void add_pools1d(std::vector<GradientCase>& cases) {
  struct Pool {
    Shape x;
    int64_t window;
    WindowOptions1D o = {};
  };
  const std::vector<Pool> pools = {
      {{1, 1, 1}, 1},
      {{2, 6, 3}, 2, {.stride = 2}},
      {{1, 9, 17}, 3, {.stride = 2, .pads = {1, 0}}},
      {{2, 5, 1}, 4, {.stride = 3, .pads = {1, 2}}},
  };
  for (const Pool& p : pools) {
    const std::string variant =
        dims(p.x) + "_w" + std::to_string(p.window) + "_" + text(p.o);
    const Size2 window{1, p.window};
    cases.push_back(
        {"max_pool1d",
         variant,
         {p.x},
         [p](const Variables& v) { return max_pool1d(v[0], p.window, p.o); },
         [=](const Arrays& a) {
           return sequence(
               reference::max_pool2d(image(a[0]), window, over_image(p.o)));
         }});
    cases.push_back(
        {"avg_pool1d",
         variant,
         {p.x},
         [p](const Variables& v) { return avg_pool1d(v[0], p.window, p.o); },
         [=](const Arrays& a) {
           return sequence(
               reference::avg_pool2d(image(a[0]), window, over_image(p.o)));
         }});
  }
}

void add_pads1d(std::vector<GradientCase>& cases) {
  for (const float value : {0.0f, 1.5f}) {
    cases.push_back(
        {"pad1d",
         value == 0 ? "zeros" : "value",
         {{2, 5, 3}},
         [=](const Variables& v) {
           return pad1d(relu(v[0]), {1, 3}, value);
         },
         [=](const Arrays& a) {
           return sequence(reference::pad2d(
               image(reference::relu(a[0], kNoLimit)), {0, 0, 1, 3}, value));
         }});
  }
}

}  // namespace

void add_sequence_cases(std::vector<GradientCase>& cases) {
  add_conv1d(cases);
  add_depthwise_conv1d(cases);
  add_sequence_blocks(cases);
  add_pools1d(cases);
  add_pads1d(cases);
}

}  // namespace octet
