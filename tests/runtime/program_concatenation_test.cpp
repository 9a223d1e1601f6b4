// Concatenations whose parts are written to slices of one buffer.
#include "programs.h"

namespace octet::programs {
namespace {

// Counts evaluations of the input and of parts that no epilogue computes.
void expect_concatenated(const Net& net, const Shape& sample, int evaluations,
                         int concatenations = 0) {
  expect_same_for_threads(net, sample, evaluations);
  EXPECT_EQ(count(capture(net, sample), "concatenate"), concatenations);
}

TEST_P(Programs, WritePartsOfQuantizedConcatenations) {
  for (const auto& [low, high] : kRanges)
    for (const auto& [a, b] : {std::pair{1, 3}, {16, 4}, {17, 33}}) {
      SCOPED_TRACE(testing::Message() << a << " and " << b << " channels");
      const Variable first = weight({3, 3, 3, a});
      const Variable second = weight({1, 1, 3, b}, 3);
      const Variable last = weight({3, 3, a + b, 5}, 4);
      const QuantParams range = qparams(0.03f, low, high);
      const Net net = [=](const Variable& x) {
        const Variable y = relu(norm(conv2d(x, first, {.pads = 1})));
        const Variable z = conv2d(x, second);
        return quantized_conv(last, range)(concatenate({y, z}, -1));
      };
      expect_concatenated(net, {1, 7, 6, 3}, 1);
    }
}

// Each with its own quantizer and format.
TEST_P(Programs, WritePartsForSeveralConsumers) {
  const Variable first = weight({3, 3, 3, 17});
  const Variable second = weight({3, 3, 3, 6}, 3);
  const Variable last = weight({3, 3, 23, 5}, 4);
  const auto both = [=](const Variable& x) {
    const WindowOptions same{.pads = 1};
    return concatenate({relu(conv2d(x, first, same)), conv2d(x, second, same)},
                       -1);
  };
  expect_concatenated(
      [=](const Variable& x) {
        const Variable y = both(x);
        return add(quantized_conv(last, qparams(0.03f))(y),
                   quantized_conv(last, qparams(0.02f, 0, 255))(y));
      },
      {1, 5, 8, 3}, 1);
  // Floats with and without padding, and as an output.
  expect_concatenated([=](const Variable& x) { return conv2d(both(x), last); },
                      {1, 5, 8, 3}, 1);
  expect_concatenated(
      [=](const Variable& x) { return conv2d(both(x), last, {.pads = 1}); },
      {1, 5, 8, 3}, 1);
  expect_concatenated(both, {1, 5, 8, 3}, 1);
  expect_concatenated(
      [=](const Variable& x) {
        return add(both(x), fake_quantize(both(x), qparams(0.04f)));
      },
      {1, 5, 8, 3}, 2);
}

// Copies of parts precede the evaluations that read them.
TEST_P(Programs, CopyPartsBeforeTheyAreRead) {
  expect_same_for_threads(
      [](const Variable& x) {
        const Variable y = concatenate({x, x}, -1);
        return add(y, y);
      },
      {1, 5, 7, 3}, 3);
  const Variable first = weight({3, 3, 3, 17});
  expect_same_for_threads(
      [=](const Variable& x) {
        const Variable y = concatenate(
            {conv2d(x, first, {.pads = 1}), max_pool2d(x, {3, 3}, {.pads = 1})},
            -1);
        return add(relu(y), sigmoid(y));
      },
      {1, 5, 7, 3}, 4);
}

// Parts of a float concatenation that are quantized values.
TEST_P(Programs, WriteQuantizedPartsOfFloatConcatenations) {
  const Variable first = weight({3, 3, 3, 3});
  expect_same_for_threads(
      [=](const Variable& x) {
        const Variable y =
            fake_quantize(conv2d(x, first, {.pads = 1}), qparams(0.05f));
        return concatenate({y, x}, -1);
      },
      {1, 5, 7, 3}, 2);
}

// 17 values take 20 bytes of words, as all 20 channels do.
TEST_P(Programs, WriteTablesBesideOtherParts) {
  const Variable wide = weight({3, 3, 3, 17});
  const Variable narrow = weight({3, 3, 3, 3}, 3);
  const Variable last = weight({3, 3, 17, 4}, 4);
  const WindowOptions same{.pads = 1};
  for (const bool wide_first : {false, true}) {
    const Net net = [=](const Variable& x) {
      const Variable y = fake_quantize(conv2d(x, wide, same), qparams(0.06f));
      const Variable z = conv2d(x, narrow, same);
      const Variable joined = wide_first ? concatenate({sigmoid(y), z}, -1)
                                         : concatenate({z, sigmoid(y)}, -1);
      return add(max(joined, {3}, Keepdims::yes),
                 quantized_conv(last, qparams(0.06f), same)(y));
    };
    expect_same_for_threads(net, {1, 5, 7, 3}, 1);
    EXPECT_EQ(count(capture(net, {1, 5, 7, 3}), "look_up"), 1);
  }
}

TEST_P(Programs, MoveExpressionsOfConcatenationsToTheirParts) {
  const Variable first = weight({3, 3, 3, 17});
  const Variable second = weight({3, 3, 3, 6}, 3);
  const Variable last = weight({1, 1, 23, 9}, 4);
  const WindowOptions same{.pads = 1};
  const Net net = [=](const Variable& x) {
    const Variable y =
        concatenate({conv2d(x, first, same), conv2d(x, second, same)}, -1);
    return quantized_conv(last, qparams(0.03f), {})(relu(norm(y), 6));
  };
  expect_concatenated(net, {1, 7, 6, 3}, 1);
  const Net active = [=](const Variable& x) {
    const Variable y =
        concatenate({conv2d(x, first, same), conv2d(x, second, same)}, -1);
    return quantized_conv(last, qparams(0.03f), {})(swish(y));
  };
  expect_concatenated(active, {1, 7, 6, 3}, 1);
}

TEST_P(Programs, ConcatenateAnyParts) {
  const Variable first = weight({3, 3, 3, 8});
  const Variable last = weight({3, 3, 25, 5}, 4);
  const WindowOptions same{.pads = 1};
  const Net whole = [=](const Variable& x) {
    const Variable y = conv2d(x, first, same);
    const Variable constant =
        broadcast_to(weight({1, 6, 7, 3}, 9), x.shape().with(3, 3));
    // An input, an unfused op, nested and repeated values, a constant.
    return concatenate({x, softmax(y), concatenate({y, constant}, -1), x}, -1);
  };
  expect_concatenated(
      [=](const Variable& x) {
        return quantized_conv(last, qparams(0.02f))(whole(x));
      },
      {1, 6, 7, 3}, 5);
  expect_concatenated(whole, {1, 6, 7, 3}, 5);
  const Net dense_block = [=](const Variable& x) {
    Variable y = x;
    for (uint64_t i = 0; i < 3; ++i) {
      const int64_t c = y.shape()[3];
      const Variable w = weight({3, 3, c, 7}, 20 + i);
      const Variable z =
          quantized_conv(w, qparams(0.03f))(relu(norm(y, 30 + i)));
      y = concatenate({y, z}, -1);
    }
    return y;
  };
  expect_concatenated(dense_block, {1, 6, 7, 3}, 6);
  // The other axes are concatenated by the op.
  expect_concatenated(
      [=](const Variable& x) {
        return concatenate({conv2d(x, first, same), conv2d(x, first, same)}, 1);
      },
      {1, 6, 7, 3}, 1, 1);
}

TEST_P(Programs, ConcatenateQuantizedParts) {
  const Variable first = weight({3, 3, 3, 8});
  const Variable last = weight({3, 3, 16, 5}, 4);
  const WindowOptions same{.pads = 1};
  for (const auto& [low, high] : kRanges)
    for (const float scale : {0.03f, 0.02f}) {
      const Net net = [=, from = low, to = high](const Variable& x) {
        const Variable y =
            fake_quantize(conv2d(x, first, same), qparams(0.03f, from, to));
        const Variable z = fake_quantize(
            max_pool2d(conv2d(x, first, same), 3, {.strides = 1, .pads = 1}),
            qparams(0.03f, from, to));
        return quantized_conv(
            last, qparams(scale, from, to))(concatenate({y, z}, -1));
      };
      expect_concatenated(net, {1, 6, 7, 3}, scale == 0.03f ? 1 : 2);
    }
}

// One quantized concatenation as part of another.
TEST_P(Programs, NestQuantizedConcatenations) {
  const Variable first = weight({3, 3, 3, 8});
  const Variable middle = weight({3, 3, 16, 6}, 5);
  const Variable last = weight({3, 3, 22, 5}, 4);
  for (const float scale : {0.03f, 0.02f}) {
    const Net net = [=](const Variable& x) {
      const Variable y = conv2d(x, first, {.pads = 1});
      const Variable z =
          fake_quantize(concatenate({y, relu(y)}, -1), qparams(0.03f));
      const Variable w = quantized_conv(middle, qparams(0.03f))(z);
      return quantized_conv(last, qparams(scale))(concatenate({z, w}, -1));
    };
    expect_same_for_threads(net, {1, 6, 7, 3},
                            count(capture(net, {1, 6, 7, 3}), "evaluate"));
  }
}

TEST_P(Programs, PoolIntoPartsOfConcatenations) {
  for (const auto& [low, high] : kRanges)
    for (const int64_t channels : {3, 8, 36}) {
      const Variable first = weight({3, 3, 3, channels});
      const Variable last = weight({3, 3, 2 * channels, 5}, 4);
      const QuantParams range = qparams(0.03f, low, high);
      const Net net = [=](const Variable& x) {
        const Variable y = conv2d(x, first, {.pads = 1});
        const Variable z = max_pool2d(y, 3, {.strides = 1, .pads = 1});
        return quantized_conv(last, range)(concatenate({z, y}, -1));
      };
      const bool words = channels % 4 == 0;
      expect_concatenated(net, {1, 6, 7, 3}, words ? 1 : 2);
      EXPECT_EQ(count(capture(net, {1, 6, 7, 3}), "max_pool"), words ? 1 : 0);
    }
}

}  // namespace
}  // namespace octet::programs
