#include <limits>

#include "cases.h"

namespace octet {
namespace {

using reference::Array;
using Arrays = std::vector<Array>;
using Variables = std::vector<Variable>;
constexpr double kUnbounded = std::numeric_limits<double>::infinity();

// Whole blocks, for which deferred evaluation was designed.
void add_blocks(std::vector<GradientCase>& cases) {
  const WindowOptions same3{.pads = {1, 1, 1, 1}};
  for (const int64_t c : {int64_t{1}, int64_t{3}, int64_t{17}, int64_t{32}}) {
    const Shape kernel{3, 3, c, c};
    // Residual block: relu(bn(conv(relu(bn(conv(x))))) + bn(x)).
    cases.push_back(
        {"",
         "residual_block_" + std::to_string(c),
         {{3, 4, 5, c}, kernel, {c}, {c}, kernel, {c}, {c}},
         [same3](const Variables& v) {
           const auto bn = [&](const Variable& x, size_t i) {
             Tensor mean = Tensor::zeros(v[i].shape());
             Tensor variance = Tensor::full(v[i].shape(), 1);
             return batch_norm_training(x, v[i], v[i + 1], mean.f32(),
                                        variance.f32(), 0.9f, 1e-2f);
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
               bn(reference::conv2d(a[0], a[1], same3), 2), kUnbounded);
           const Array y = bn(reference::conv2d(h, a[4], same3), 5);
           const Array z = reference::relu(reference::add(y, bn(a[0], 2)), 1.5);
           return reference::conv2d(z, a[4], same3);
         }});
    // A tensor with three consumers: h is convolved twice and added.
    cases.push_back(
        {"",
         "shared_input_" + std::to_string(c),
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
               kUnbounded);
           const Array s = reference::conv2d(h, a[1], stride2);
           const Array t = reference::conv2d(
               reference::relu(reference::add(h, h), kUnbounded), a[1],
               stride2);
           return reference::add(s, reference::relu(t, kUnbounded));
         }});
    // The network of the quickstart: conv, bn, relu, pool, flatten, dense,
    // loss.
    cases.push_back(
        {"",
         "classifier_" + std::to_string(c),
         {{4, 6, 4, c}, kernel, {c}, {c}, {6 * c, 5}, {5}},
         [same3](const Variables& v) {
           Tensor mean = Tensor::zeros(v[2].shape());
           Tensor variance = Tensor::full(v[2].shape(), 1);
           Variable h =
               batch_norm_training(conv2d(v[0], v[1], same3), v[2], v[3],
                                   mean.f32(), variance.f32(), 0.9f, 1e-2f);
           h = max_pool2d(relu(h), {2, 2}, {.strides{2, 2}});
           h = reshape(h, {4, Shape::kAnySize});
           h = bias_add(dense(h, v[4]), v[5]);
           return softmax_cross_entropy(h,
                                        Tensor::of<int64_t>({4}, {0, 4, 2, 2}));
         },
         [same3](const Arrays& a) {
           Array h = reference::batch_norm_training(
               reference::conv2d(a[0], a[1], same3), a[2], a[3], 1e-2f);
           h = reference::max_pool2d(reference::relu(h, kUnbounded), {2, 2},
                                     {.strides{2, 2}});
           Array flat({4, h.size() / 4});
           flat.values = h.values;
           return reference::softmax_cross_entropy(
               reference::bias_add(reference::dense(flat, a[4]), a[5]),
               {0, 4, 2, 2});
         }});
  }
}

// A dense layer computes the sums for the following batch normalization over
// several blocks of rows, with and without a bias in between.
void add_normalized_dense(std::vector<GradientCase>& cases) {
  const std::vector<std::pair<Shape, Shape>> shapes = {{{3, 5}, {5, 10}},
                                                       {{40, 17}, {17, 33}},
                                                       {{5, 9, 4}, {4, 7}},
                                                       {{34, 600}, {600, 3}}};
  for (const auto& [x, w] : shapes) {
    const Shape channels{w[1]};
    for (const bool biased : {false, true}) {
      std::vector<Shape> inputs{x, w, channels, channels};
      if (biased) inputs.push_back(channels);
      cases.push_back(
          {"",
           std::string(biased ? "biased" : "plain") + "_dense_normalized_" +
               dims(x) + "_k" + dims(w),
           inputs,
           [biased](const Variables& v) {
             Variable y = dense(v[0], v[1]);
             if (biased) y = bias_add(y, v[4]);
             Tensor mean = Tensor::zeros(v[2].shape());
             Tensor variance = Tensor::full(v[2].shape(), 1);
             return relu(batch_norm_training(y, v[2], v[3], mean.f32(),
                                             variance.f32(), 0.9f, 1e-2f));
           },
           [biased](const Arrays& a) {
             Array y = reference::dense(a[0], a[1]);
             if (biased) y = reference::bias_add(y, a[4]);
             return reference::relu(
                 reference::batch_norm_training(y, a[2], a[3], 1e-2f),
                 kUnbounded);
           }});
    }
  }
}

}  // namespace

void add_block_cases(std::vector<GradientCase>& cases) {
  add_blocks(cases);
  add_normalized_dense(cases);
}

}  // namespace octet
