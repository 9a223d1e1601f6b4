// What the networks of the zoo have in common.
#pragma once

#include <functional>
#include <string_view>

#include <octet/layers/conv2d.h>
#include <octet/layers/dense.h>
#include <octet/layers/depthwise_conv2d.h>
#include <octet/layers/zoo.h>

namespace octet::zoo {

/// From the input to the logits; `options` are complete.
using Body = std::function<SymbolicTensor(const Options& options,
                                          const SymbolicTensor& x)>;

/// The network `name` of the table: completes and checks the options, then
/// runs `body`, whose errors tell the network and its input.
Model network(std::string_view name, const Options& options, const Body& body);

/// Makes the layers of a network whose kernels are penalized and initialised
/// alike.
struct Kernels {
  float l2 = 0;
  Initializer initializer = glorot_uniform();

  SymbolicTensor conv(const SymbolicTensor& x, Conv2DOptions options) const;
  SymbolicTensor depthwise(const SymbolicTensor& x,
                           DepthwiseConv2DOptions options) const;
  SymbolicTensor dense(const SymbolicTensor& x, DenseOptions options) const;
};

/// `value` rounded to a multiple of eight that is not below 90 % of it.
/// Source: keras.applications.mobilenet_v2, _make_divisible.
int64_t multiple_of_eight(double value);

/// What surrounds an image so that a window of `window` cells, moved by two,
/// ends at its border. Source: keras.applications.imagenet_utils, correct_pad.
Pads pads_of_stride_two(const SymbolicTensor& x, int64_t window);

/// Throws: ShapeError unless height and width are multiples of `divisor`.
void expect_multiples(const Shape& input, int64_t divisor);

}  // namespace octet::zoo
