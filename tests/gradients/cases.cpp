#include "cases.h"

#include <limits>

#include <fmt/format.h>

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

std::string text(const WindowOptions& o) {
  return fmt::format("_s{}{}_d{}{}_p{}{}{}{}", o.strides.h, o.strides.w,
                     o.dilation.h, o.dilation.w, o.pads.top, o.pads.bottom,
                     o.pads.left, o.pads.right);
}

std::string dims(const Shape& shape) {
  return fmt::format("{}", fmt::join(shape.dims(), "x"));
}

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
        {"conv2d_" + dims(c.x) + "_k" + dims(c.kernel) + text(c.o),
         {c.x, c.kernel},
         [o = c.o](const Variables& v) { return conv2d(v[0], v[1], o); },
         [o = c.o](const Arrays& a) {
           return reference::conv2d(a[0], a[1], o);
         }});
  }
}

void add_dense(std::vector<GradientCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> shapes = {
      {{1, 1}, {1, 1}},      {{3, 5}, {5, 10}},    {{2, 3, 4}, {4, 7}},
      {{17, 600}, {600, 3}}, {{40, 17}, {17, 33}}, {{2, 2, 3, 5}, {5, 2}}};
  for (const auto& [x, w] : shapes) {
    cases.push_back(
        {"dense_" + dims(x) + "_k" + dims(w),
         {x, w},
         [](const Variables& v) { return dense(v[0], v[1]); },
         [](const Arrays& a) { return reference::dense(a[0], a[1]); }});
  }
}

void add_pointwise(std::vector<GradientCase>& cases) {
  const std::vector<Shape> shapes = {
      {1, 1, 1, 1}, {2, 3, 5, 17}, {3, 4, 2, 3}, {5, 16}, {2, 3, 33}};
  for (const Shape& x : shapes) {
    const Shape c{x[-1]};
    cases.push_back(
        {"bias_add_" + dims(x),
         {x, c},
         [](const Variables& v) { return bias_add(v[0], v[1]); },
         [](const Arrays& a) { return reference::bias_add(a[0], a[1]); }});
    cases.push_back(
        {"add_" + dims(x),
         {x, x},
         [](const Variables& v) { return add(v[0], v[1]); },
         [](const Arrays& a) { return reference::add(a[0], a[1]); }});
    cases.push_back(
        {"add_to_itself_" + dims(x),
         {x},
         [](const Variables& v) { return add(v[0], v[0]); },
         [](const Arrays& a) { return reference::add(a[0], a[0]); }});
    cases.push_back(
        {"relu_" + dims(x),
         {x},
         [](const Variables& v) { return relu(v[0]); },
         [](const Arrays& a) { return reference::relu(a[0], kInfinity); }});
    cases.push_back(
        {"relu_below_half_" + dims(x),
         {x},
         [](const Variables& v) { return relu(v[0], 0.5f); },
         [](const Arrays& a) { return reference::relu(a[0], 0.5); }});
    cases.push_back({"batch_norm_training_" + dims(x),
                     {x, c, c},
                     [](const Variables& v) {
                       Tensor mean = Tensor::zeros(v[1].shape());
                       Tensor variance = Tensor::full(v[1].shape(), 1);
                       return batch_norm_training(v[0], v[1], v[2], mean,
                                                  variance, 0.9f, 1e-2f);
                     },
                     [](const Arrays& a) {
                       return reference::batch_norm_training(a[0], a[1], a[2],
                                                             1e-2f);
                     }});
    cases.push_back({"batch_norm_" + dims(x),
                     {x, c, c},
                     [](const Variables& v) {
                       return batch_norm(v[0], v[1], v[2],
                                         Tensor::full(v[1].shape(), 0.25f),
                                         Tensor::full(v[1].shape(), 2), 1e-2f);
                     },
                     [](const Arrays& a) {
                       Array mean(a[1].shape);
                       Array variance(a[1].shape);
                       for (double& m : mean.values) m = 0.25;
                       for (double& v : variance.values) v = 2;
                       return reference::batch_norm(a[0], a[1], a[2], mean,
                                                    variance, 1e-2f);
                     }});
  }
}

void add_pooling_and_loss(std::vector<GradientCase>& cases) {
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
        {"max_pool2d_" + dims(p.x) + text(p.o),
         {p.x},
         [p](const Variables& v) { return max_pool2d(v[0], p.window, p.o); },
         [p](const Arrays& a) {
           return reference::max_pool2d(a[0], p.window, p.o);
         }});
  }
  for (const Shape& x : {Shape{1, 1}, Shape{3, 10}, Shape{2, 3, 17}}) {
    cases.push_back({"softmax_" + dims(x),
                     {x},
                     [](const Variables& v) { return softmax(v[0]); },
                     [](const Arrays& a) { return reference::softmax(a[0]); }});
  }
  for (const Shape& x : {Shape{1, 2}, Shape{5, 10}, Shape{3, 17}}) {
    std::vector<int64_t> labels;
    for (int64_t i = 0; i < x[0]; ++i) labels.push_back((7 * i + 1) % x[1]);
    cases.push_back({"softmax_cross_entropy_" + dims(x),
                     {x},
                     [labels, n = x[0]](const Variables& v) {
                       return softmax_cross_entropy(
                           v[0], Tensor::of<int64_t>({n}, labels));
                     },
                     [labels](const Arrays& a) {
                       return reference::softmax_cross_entropy(a[0], labels);
                     }});
  }
  cases.push_back({"reshape_2x3x4x5",
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

// Whole blocks: what the deferral was made for.
void add_blocks(std::vector<GradientCase>& cases) {
  const WindowOptions same3{.pads = {1, 1, 1, 1}};
  for (const int64_t c : {int64_t{1}, int64_t{3}, int64_t{17}, int64_t{32}}) {
    const Shape kernel{3, 3, c, c};
    // Residual block: relu(bn(conv(relu(bn(conv(x))))) + bn(x)).
    cases.push_back(
        {"residual_block_" + std::to_string(c),
         {{3, 4, 5, c}, kernel, {c}, {c}, kernel, {c}, {c}},
         [same3](const Variables& v) {
           const auto bn = [&](const Variable& x, size_t i) {
             Tensor mean = Tensor::zeros(v[i].shape());
             Tensor variance = Tensor::full(v[i].shape(), 1);
             return batch_norm_training(x, v[i], v[i + 1], mean, variance, 0.9f,
                                        1e-2f);
           };
           const Variable h = relu(bn(conv2d(v[0], v[1], same3), 2));
           const Variable y = bn(conv2d(h, v[4], same3), 5);
           const Variable z = relu(add(y, bn(v[0], 2)), 1.5f);
           return conv2d(z, v[4], same3);
         },
         [same3](const Arrays& a) {
           const auto bn = [&](const Array& x, size_t i) {
             return reference::batch_norm_training(x, a[i], a[i + 1], 1e-2f);
           };
           const Array h = reference::relu(
               bn(reference::conv2d(a[0], a[1], same3), 2), kInfinity);
           const Array y = bn(reference::conv2d(h, a[4], same3), 5);
           const Array z = reference::relu(reference::add(y, bn(a[0], 2)), 1.5);
           return reference::conv2d(z, a[4], same3);
         }});
    // One tensor, three readers: h is convolved twice and added.
    cases.push_back(
        {"shared_input_" + std::to_string(c),
         {{2, 5, 3, c}, kernel, {c}},
         [same3](const Variables& v) {
           const Variable h = relu(bias_add(conv2d(v[0], v[1], same3), v[2]));
           const Variable s = conv2d(h, v[1], {.strides{2, 2}});
           const Variable t = conv2d(relu(add(h, h)), v[1], {.strides{2, 2}});
           return add(s, relu(t));
         },
         [same3](const Arrays& a) {
           const WindowOptions stride2{.strides{2, 2}};
           const Array h = reference::relu(
               reference::bias_add(reference::conv2d(a[0], a[1], same3), a[2]),
               kInfinity);
           const Array s = reference::conv2d(h, a[1], stride2);
           const Array t = reference::conv2d(
               reference::relu(reference::add(h, h), kInfinity), a[1], stride2);
           return reference::add(s, reference::relu(t, kInfinity));
         }});
    // The quickstart's shape: conv, bn, relu, pool, flatten, dense, loss.
    cases.push_back(
        {"classifier_" + std::to_string(c),
         {{4, 6, 4, c}, kernel, {c}, {c}, {6 * c, 5}, {5}},
         [same3](const Variables& v) {
           Tensor mean = Tensor::zeros(v[2].shape());
           Tensor variance = Tensor::full(v[2].shape(), 1);
           Variable h = batch_norm_training(conv2d(v[0], v[1], same3), v[2],
                                            v[3], mean, variance, 0.9f, 1e-2f);
           h = max_pool2d(relu(h), {2, 2}, {.strides{2, 2}});
           h = reshape(h, {4, Shape::kAnySize});
           h = bias_add(dense(h, v[4]), v[5]);
           return softmax_cross_entropy(h,
                                        Tensor::of<int64_t>({4}, {0, 4, 2, 2}));
         },
         [same3](const Arrays& a) {
           Array h = reference::batch_norm_training(
               reference::conv2d(a[0], a[1], same3), a[2], a[3], 1e-2f);
           h = reference::max_pool2d(reference::relu(h, kInfinity), {2, 2},
                                     {.strides{2, 2}});
           Array flat({4, h.size() / 4});
           flat.values = h.values;
           return reference::softmax_cross_entropy(
               reference::bias_add(reference::dense(flat, a[4]), a[5]),
               {0, 4, 2, 2});
         }});
  }
}

}  // namespace

std::vector<GradientCase> gradient_cases() {
  std::vector<GradientCase> cases;
  add_conv2d(cases);
  add_dense(cases);
  add_pointwise(cases);
  add_pooling_and_loss(cases);
  add_blocks(cases);
  return cases;
}

}  // namespace octet
