// Shared parts of the zoo's networks.
#pragma once

#include <functional>
#include <string_view>

#include <octet/layers/convolution.h>
#include <octet/layers/dense.h>
#include <octet/layers/zoo.h>

namespace octet::zoo {

/// Builds the graph from the input to the logits; `options` are complete.
using Body = std::function<SymbolicTensor(const Options& options,
                                          const SymbolicTensor& x)>;

/// Builds the network `name` of the table: completes and checks the options,
/// then calls `body`. Errors carry the network's name and input as context.
Model network(std::string_view name, const Options& options, const Body& body);

/// Creates layers with equal kernel initializers and regularizers.
struct Kernels {
  float l2 = 0;
  Initializer initializer = glorot_uniform();

  SymbolicTensor conv(const SymbolicTensor& x, Conv2DOptions options) const;
  SymbolicTensor depthwise(const SymbolicTensor& x,
                           DepthwiseConv2DOptions options) const;
  SymbolicTensor dense(const SymbolicTensor& x, DenseOptions options) const;
};

/// Rounds `value` to a multiple of eight that is at least 90 % of it.
/// Source: keras.applications.mobilenet_v2, _make_divisible.
int64_t multiple_of_eight(double value);

/// Returns the padding with which a window of size `window` and stride 2 ends
/// at the border of the image.
/// Source: keras.applications.imagenet_utils, correct_pad.
Pads pads_of_stride_two(const SymbolicTensor& x, int64_t window);

/// Throws: ShapeError unless height and width are multiples of `divisor`.
void expect_multiples(const Shape& input, int64_t divisor);

}  // namespace octet::zoo
