// Slices of channels that kernels read in the storage of the whole.
#include "programs.h"

namespace octet::programs {
namespace {

const WindowOptions kSame{.pads = 1};

// Returns `count` channels from `first` on.
Variable channels(const Variable& x, int64_t first, int64_t count) {
  return slice(x, -1, first, count);
}

void expect_slices(const Net& net, const Shape& sample, int evaluations,
                   int copies) {
  expect_same_for_threads(net, sample, evaluations);
  EXPECT_EQ(count(capture(net, sample), "slice"), copies);
}

// The split of YOLOv8's blocks: convolutions of one half, possibly a sum with
// it, which needs a copy, and a concatenation of all.
TEST_P(Programs, ReadHalvesInPlace) {
  for (const auto& [low, high] : kRanges)
    for (const bool sum : {false, true}) {
      const Variable first = weight({3, 3, 3, 16});
      const Variable inner = weight({3, 3, 8, 8}, 3);
      const Variable last = weight({1, 1, 24, 5}, 4);
      const QuantParams range = qparams(0.03f, low, high);
      const Net net = [=](const Variable& x) {
        const Variable y = swish(norm(conv2d(x, first, kSame)));
        const Variable a = channels(y, 0, 8), b = channels(y, 8, 8);
        const Variable inside = swish(quantized_conv(inner, range)(b));
        const Variable z = sum ? add(inside, b) : inside;
        return quantized_conv(last, range, {})(concatenate({a, b, z}, -1));
      };
      expect_slices(net, {1, 7, 6, 3}, sum ? 2 : 1, sum ? 1 : 0);
    }
}

// Codes fill words: a slice that does not is copied.
TEST_P(Programs, CopySlicesBetweenWords) {
  const Variable first = weight({3, 3, 3, 17});
  for (const auto& [from, size] :
       {std::pair<int64_t, int64_t>{0, 8}, {4, 12}, {3, 8}, {8, 9}, {0, 6}}) {
    SCOPED_TRACE(testing::Message() << size << " from " << from);
    const Variable last = weight({3, 3, size, 5}, 4);
    const Variable deep = weight({3, 3, size, 1}, 5);
    const Net net = [=](const Variable& x) {
      const Variable y = relu(conv2d(x, first, kSame));
      const Variable s = channels(y, from, size);
      return add(quantized_conv(last, qparams(0.03f, 0, 255))(s),
                 slice(depthwise_conv2d(s, deep, kSame), -1, 0, 1));
    };
    const Program program = capture(net, {1, 5, 7, 3});
    expect_same_for_threads(net, {1, 5, 7, 3}, count(program, "evaluate"));
  }
}

// Floats with and without padding: padding needs a separate storage.
TEST_P(Programs, ReadSlicesOfFloats) {
  const Variable wide = weight({3, 3, 5, 4}), narrow = weight({1, 1, 5, 4}, 3);
  const Net of_input = [=](const Variable& x) {
    const Variable s = channels(x, 2, 5);
    return add(conv2d(s, narrow), conv2d(s, wide, kSame));
  };
  expect_slices(of_input, {1, 5, 8, 11}, 1, 0);
  const Variable first = weight({3, 3, 11, 11}, 4);
  expect_slices(
      [=](const Variable& x) {
        return of_input(relu(conv2d(x, first, kSame)));
      },
      {1, 5, 8, 11}, 1, 0);
  const Variable dense = weight({5, 3}, 6);
  expect_slices(
      [=](const Variable& x) { return matmul(channels(x, 6, 5), dense); },
      {1, 11}, 0, 1);
}

// Slices of slices, of concatenations, and of quantized values.
TEST_P(Programs, ReadNestedSlices) {
  const Variable first = weight({3, 3, 3, 32}), second = weight({1, 1, 3, 8});
  const Variable last = weight({3, 3, 8, 5}, 4);
  const QuantParams range = qparams(0.03f);
  const auto both = [=](const Variable& x) {
    return concatenate({conv2d(x, first, kSame), conv2d(x, second)}, -1);
  };
  expect_slices(
      [=](const Variable& x) {
        const Variable half = channels(relu(conv2d(x, first, kSame)), 8, 24);
        return quantized_conv(last, range)(channels(half, 4, 8));
      },
      {1, 5, 6, 3}, 1, 0);
  expect_slices(
      [=](const Variable& x) {
        return quantized_conv(last, range)(channels(both(x), 28, 8));
      },
      {1, 5, 6, 3}, 2, 0);
  expect_slices(
      [=](const Variable& x) {
        const Variable y = fake_quantize(both(x), range);
        return add(conv2d(channels(y, 32, 8), last, kSame),
                   quantized_conv(last, range)(channels(y, 4, 8)));
      },
      {1, 5, 6, 3}, 1, 0);
}

// Consumers that need all pixels, next to one that skips some.
TEST_P(Programs, ReadSlicesBesideStrides) {
  const Variable first = weight({3, 3, 3, 16});
  const Variable all = weight({1, 1, 16, 4}, 3), half = weight({3, 3, 8, 4}, 4);
  const QuantParams range = qparams(0.03f);
  expect_slices(
      [=](const Variable& x) {
        const Variable y = relu(conv2d(x, first, kSame));
        return add(quantized_conv(all, range, {.strides = 2})(y),
                   quantized_conv(half, range, {.strides = 2, .pads = 1})(
                       channels(y, 8, 8)));
      },
      {1, 7, 6, 3}, 1, 0);
}

// Outputs, tensors and pooling get copies, which other consumers do not need.
TEST_P(Programs, CopySlicesForOtherOps) {
  const Variable first = weight({3, 3, 3, 16});
  const Variable last = weight({3, 3, 8, 8}, 4);
  expect_slices(
      [=](const Variable& x) {
        const Variable y = relu(conv2d(x, first, kSame));
        const Variable b = channels(y, 8, 8);
        return add(quantized_conv(last, qparams(0.03f))(b), softmax(b, -1));
      },
      {1, 5, 6, 3}, 1, 1);
  expect_slices(
      [=](const Variable& x) {
        return channels(relu(conv2d(x, first, kSame)), 4, 7);
      },
      {1, 5, 6, 3}, 1, 1);
  expect_same_for_threads(
      [=](const Variable& x) {
        const Variable y = relu(conv2d(x, first, kSame));
        const Variable b =
            max_pool2d(channels(y, 8, 8), {2, 2}, {.strides = 2});
        return quantized_conv(last, qparams(0.03f))(b);
      },
      {1, 6, 6, 3}, 2);
}

}  // namespace
}  // namespace octet::programs
