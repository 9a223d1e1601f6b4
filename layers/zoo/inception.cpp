// Convolutions are unnamed: Model numbers them in Keras' creation order.
#include <vector>

#include <fmt/format.h>

#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/pooling.h>

#include "network.h"

namespace octet::zoo {
namespace {

struct Conv {
  int64_t filters;
  Size2 window;
  Size2 strides{1, 1};
  Padding padding = Padding::same;
};
constexpr Size2 kOne{1, 1};
constexpr Size2 kThree{3, 3};
constexpr Size2 kTwo{2, 2};

struct Inception {
  Kernels kernels;

  // Consecutive convolutions, each with normalization and ReLU.
  SymbolicTensor chain(SymbolicTensor x, const std::vector<Conv>& convs) const {
    for (const Conv& c : convs) {
      x = kernels.conv(x, {.filters = c.filters,
                           .kernel_size = c.window,
                           .strides = c.strides,
                           .padding = c.padding,
                           .use_bias = false});
      x = Activation("relu")(BatchNormalization({.scale = false})(x));
    }
    return x;
  }

  SymbolicTensor pooled(const SymbolicTensor& x, int64_t filters) const {
    const SymbolicTensor y = AveragePooling2D(
        {.pool_size = kThree, .strides = kOne, .padding = Padding::same})(x);
    return chain(y, {{filters, kOne}});
  }
};

SymbolicTensor halved(const SymbolicTensor& x) {
  return MaxPooling2D({.pool_size = kThree, .strides = kTwo})(x);
}

SymbolicTensor joined(const std::vector<SymbolicTensor>& branches, int mixed) {
  return Concatenate({.name = fmt::format("mixed{}", mixed)})(branches);
}

SymbolicTensor stem(const Inception& net, SymbolicTensor x) {
  x = net.chain(x, {{32, kThree, kTwo, Padding::valid},
                    {32, kThree, kOne, Padding::valid},
                    {64, kThree}});
  x = net.chain(halved(x), {{80, kOne, kOne, Padding::valid},
                            {192, kThree, kOne, Padding::valid}});
  return halved(x);
}

// mixed0 to mixed2: a 5x5 and two 3x3 windows.
SymbolicTensor fine(const Inception& net, const SymbolicTensor& x,
                    int64_t pool_filters, int mixed) {
  const auto one = net.chain(x, {{64, kOne}});
  const auto five = net.chain(x, {{48, kOne}, {64, {5, 5}}});
  const auto threes = net.chain(x, {{64, kOne}, {96, kThree}, {96, kThree}});
  return joined({one, five, threes, net.pooled(x, pool_filters)}, mixed);
}

// mixed3 halves the image.
SymbolicTensor first_reduction(const Inception& net, const SymbolicTensor& x) {
  const auto three = net.chain(x, {{384, kThree, kTwo, Padding::valid}});
  const auto threes = net.chain(
      x, {{64, kOne}, {96, kThree}, {96, kThree, kTwo, Padding::valid}});
  return joined({three, threes, halved(x)}, 3);
}

// mixed4 to mixed7: 7x7 windows, factored into rows and columns.
SymbolicTensor medium(const Inception& net, const SymbolicTensor& x,
                      int64_t inner, int mixed) {
  const Size2 row{1, 7};
  const Size2 column{7, 1};
  const auto one = net.chain(x, {{192, kOne}});
  const auto seven = net.chain(x, {{inner, kOne}, {inner, row}, {192, column}});
  const auto sevens = net.chain(x, {{inner, kOne},
                                    {inner, column},
                                    {inner, row},
                                    {inner, column},
                                    {192, row}});
  return joined({one, seven, sevens, net.pooled(x, 192)}, mixed);
}

// mixed8 halves the image again.
SymbolicTensor second_reduction(const Inception& net, const SymbolicTensor& x) {
  const auto three =
      net.chain(x, {{192, kOne}, {320, kThree, kTwo, Padding::valid}});
  const auto seven = net.chain(x, {{192, kOne},
                                   {192, {1, 7}},
                                   {192, {7, 1}},
                                   {192, kThree, kTwo, Padding::valid}});
  return joined({three, seven, halved(x)}, 8);
}

// mixed9 and mixed10: branches that fork into a row and a column.
SymbolicTensor coarse(const Inception& net, const SymbolicTensor& x, int i) {
  const auto fork = [&](const SymbolicTensor& from, std::string name) {
    const auto row = net.chain(from, {{384, {1, 3}}});
    const auto column = net.chain(from, {{384, {3, 1}}});
    return Concatenate({.name = std::move(name)})({row, column});
  };
  const auto one = net.chain(x, {{320, kOne}});
  const auto three =
      fork(net.chain(x, {{384, kOne}}), fmt::format("mixed9_{}", i));
  const auto threes = fork(net.chain(x, {{448, kOne}, {384, kThree}}), "");
  return joined({one, three, threes, net.pooled(x, 192)}, 9 + i);
}

SymbolicTensor body(const Options& o, const SymbolicTensor& image) {
  const Inception net{{.l2 = o.l2, .initializer = glorot_uniform()}};
  SymbolicTensor x = stem(net, image);
  x = fine(net, x, 32, 0);
  x = fine(net, x, 64, 1);
  x = fine(net, x, 64, 2);
  x = first_reduction(net, x);
  x = medium(net, x, 128, 4);
  x = medium(net, x, 160, 5);
  x = medium(net, x, 160, 6);
  x = medium(net, x, 192, 7);
  x = second_reduction(net, x);
  x = coarse(net, x, 0);
  x = coarse(net, x, 1);
  x = GlobalAveragePooling2D({.name = "avg_pool"})(x);
  return net.kernels.dense(x, {.units = o.classes, .name = "predictions"});
}

}  // namespace

Model inception_v3(const Options& options) {
  return network("inception_v3", options, body);
}

}  // namespace octet::zoo
