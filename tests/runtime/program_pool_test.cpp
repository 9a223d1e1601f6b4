// Max pooling of quantized values, if all consumers are quantized.
#include <octet/runtime/detail/program_capture.h>

#include "programs.h"

namespace octet::programs {
namespace {

struct PoolCase {
  Size2 window;
  WindowOptions options;
  Pads zeros;  // around the pool's input
};

const PoolCase kPoolCases[] = {
    {{2, 2}, {.strides = 2}, {}},
    {{3, 2}, {.strides{2, 1}, .pads{1, 1, 1, 0}}, {}},
    {{3, 3}, {.strides = 2}, Pads(1)},
    {{2, 3}, {.strides = 1}, Pads(0, 2, 1, 0)},
    {{3, 2}, {.strides{1, 2}, .dilation{2, 3}, .pads{2, 1, 0, 2}}, {}},
};

// A convolution, zero padding, max pooling, and a quantized convolution.
Program pooling_program(const Net& first, const Net& zeros, const Net& pool,
                        const Net& last) {
  ProgramCapture capture;
  const Variable x = capture.input({1, 9, 8, 3});
  Variable y = call(capture, "first", x, first);
  y = call(capture, "zeros", y, zeros);
  y = call(capture, "pool", y, pool);
  y = call(capture, "last", y, last);
  return capture.finish({&y, 1});
}

TEST_P(Programs, PoolQuantizedValues) {
  const NoGradGuard no_grad;
  for (const PoolCase& c : kPoolCases)
    for (const Range& range : kRanges) {
      for (const int64_t channels : {1, 3, 17, 70}) {
        SCOPED_TRACE(channels);
        const Variable w = weight({3, 3, 3, channels});
        const Variable v = weight({3, 3, channels, 5}, 4);
        const Net first = [=](const Variable& x) {
          return add(conv2d(x, w, {.pads = 1}), Variable(Tensor::scalar(0.2f)));
        };
        const Net zeros = [=](const Variable& x) { return pad2d(x, c.zeros); };
        const Net pool = [=](const Variable& x) {
          return max_pool2d(x, c.window, c.options);
        };
        const Net last = [=](const Variable& x) {
          return conv2d(fake_quantize(x, qparams(0.02f, range.low, range.high)),
                        fake_quantize(v, channel_qparams(5)), {.pads = 1});
        };
        const Net scaled = [=](const Variable& x) {
          return norm(conv2d(x, w, {.pads = 1}));
        };
        for (const Net& before : {scaled, first}) {
          const Program program = pooling_program(before, zeros, pool, last);
          EXPECT_EQ(count(program, "max_pool"), 1);
          for (const int64_t n : {1, 3, 21}) {
            const Tensor images = noise({n, 9, 8, 3}, 7);
            const Variable expected =
                last(pool(zeros(before(Variable(images)))));
            Tensor got(expected.shape());
            ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
            EXPECT_EQ(bits(got), bits(expected));
          }
        }
      }
    }
}

TEST_P(Programs, PoolQuantizedValuesOfOneRange) {
  const NoGradGuard no_grad;
  const Variable w = weight({3, 3, 3, 8});
  const Variable v = weight({3, 3, 8, 5}, 4);
  const Net first = [=](const Variable& x) { return relu(conv2d(x, w)); };
  const Net none = [](const Variable& x) { return x; };
  const Net pool = [](const Variable& x) {
    return max_pool2d(x, 2, {.strides = 2});
  };
  const auto quantized = [=](const Variable& x, float scale) {
    return conv2d(fake_quantize(x, qparams(scale)),
                  fake_quantize(v, channel_qparams(5)));
  };
  const Net one = [=](const Variable& x) {
    return add(quantized(x, 0.02f), quantized(x, 0.02f));
  };
  const Net two = [=](const Variable& x) {
    return add(quantized(x, 0.02f), quantized(x, 0.03f));
  };
  const Net floats = [=](const Variable& x) {
    return add(quantized(x, 0.02f), conv2d(x, v));
  };
  const Net output = [=](const Variable& x) {
    return fake_quantize(x, qparams(0.02f));
  };
  // Concatenates the floats.
  const Net joined = [=](const Variable& x) {
    return concatenate(
        {x, conv2d(fake_quantize(x, qparams(0.02f)),
                   fake_quantize(v, channel_qparams(5)), {.pads = 1})},
        -1);
  };
  std::vector<int> pools;
  for (const Net& last : {one, two, floats, output, joined}) {
    const Program program = pooling_program(first, none, pool, last);
    pools.push_back(count(program, "max_pool"));
    EXPECT_EQ(pools.back() + count(program, "max_pool2d"), 1);
    const Tensor images = noise({5, 9, 8, 3}, 7);
    const Variable expected = last(pool(first(Variable(images))));
    Tensor got(expected.shape());
    ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
    EXPECT_EQ(bits(got), bits(expected));
  }
  EXPECT_THAT(pools, testing::ElementsAre(1, 0, 0, 0, 0));
}

// Q/DQ around the pool, as inserted by ONNX Runtime's quantizer.
TEST_P(Programs, PoolExistingQuantizedValues) {
  const NoGradGuard no_grad;
  const Variable w = weight({3, 3, 3, 8});
  const Variable v = weight({3, 3, 8, 5}, 4);
  const Net zeros = [=](const Variable& x) { return pad2d(x, Pads(1)); };
  const Net pool = [](const Variable& x) {
    return max_pool2d(x, 2, {.strides = 2});
  };
  for (const auto& [low, high] : kRanges) {
    for (const float scale : {0.02f, 0.03f}) {
      const Net first = [=, from = low, to = high](const Variable& x) {
        return fake_quantize(conv2d(x, w), qparams(0.03f, from, to));
      };
      const Net last = [=, from = low, to = high](const Variable& x) {
        return conv2d(fake_quantize(x, qparams(scale, from, to)),
                      fake_quantize(v, channel_qparams(5)));
      };
      const Program program = pooling_program(first, zeros, pool, last);
      EXPECT_EQ(count(program, "max_pool"), scale == 0.03f ? 1 : 0);
      const Tensor images = noise({5, 9, 8, 3}, 7);
      const Variable expected = last(pool(zeros(first(Variable(images)))));
      Tensor got(expected.shape());
      ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
      EXPECT_EQ(bits(got), bits(expected));
    }
  }
}

// Without concatenation, and as in detectors.
TEST_P(Programs, PoolPooledQuantizedValues) {
  const auto pool = [](const Variable& x) {
    return max_pool2d(x, 3, {.strides = 1, .pads = 1});
  };
  for (const auto& [low, high] : kRanges)
    for (const int64_t channels : {3, 8, 20}) {
      const Variable first = weight({3, 3, 3, channels});
      const Variable last = weight({1, 1, channels, 5}, 4);
      const Variable join = weight({1, 1, 4 * channels, 5}, 5);
      const QuantParams range = qparams(0.02f, low, high);
      const Shape sample{1, 7, 6, 3};
      const Net chain = [=](const Variable& x) {
        return quantized_conv(last, range, {})(pool(pool(conv2d(x, first))));
      };
      expect_same_for_threads(chain, sample, 0);
      const Net pyramid = [=](const Variable& x) {
        std::vector<Variable> parts{relu(conv2d(x, first))};
        for (int i = 0; i < 3; ++i) parts.push_back(pool(parts.back()));
        return quantized_conv(join, range, {})(concatenate(parts, -1));
      };
      const bool words = channels % 4 == 0;
      expect_same_for_threads(pyramid, sample, words ? 0 : 3);
      EXPECT_EQ(count(capture(pyramid, sample), "max_pool2d"), words ? 0 : 3);
    }
}

TEST_P(Programs, EnlargeQuantizedValues) {
  const ResizeOptions nearest{.interpolation = Interpolation::nearest};
  const std::vector<Net> enlargements{[](const Variable& x) {
                                        return upsample2d(x, {2, 3});
                                      },
                                      [](const Variable& x) {
                                        return upsample2d(x, {1, 1});
                                      },
                                      [=](const Variable& x) {
                                        return resize2d(x, {11, 7}, nearest);
                                      },
                                      [=](const Variable& x) {
                                        return resize2d(x, {3, 9}, nearest);
                                      }};  // not taller
  for (const Net& enlarge : enlargements)
    for (const auto& [low, high] : kRanges)
      for (const int64_t channels : {3, 8}) {
        const bool taller =
            enlarge(Variable(noise({1, 5, 4, 1}))).shape()[1] > 3;
        const Variable first = weight({3, 3, 3, channels});
        const Variable last = weight({3, 3, channels, 5}, 4);
        const Variable join = weight({3, 3, 2 * channels, 5}, 5);
        const QuantParams range = qparams(0.02f, low, high);
        const Shape sample{1, 7, 6, 3};
        const Net net = [=](const Variable& x) {
          return quantized_conv(last, range)(enlarge(conv2d(x, first)));
        };
        expect_same_for_threads(net, sample, taller ? 0 : 1);
        const Net joined = [=](const Variable& x) {
          const Variable y = enlarge(conv2d(x, first));
          const Variable z = enlarge(relu(conv2d(x, first)));
          return quantized_conv(join, range)(concatenate({y, z}, -1));
        };
        expect_same_for_threads(joined, sample,
                                taller && channels % 4 == 0 ? 0 : 2);
      }
}

// NaN is the maximum of its window and has no quantized value.
TEST_P(Programs, PoolNanAsFloat) {
  const NoGradGuard no_grad;
  const Variable w = weight({1, 1, 3, 8});
  const Variable v = weight({3, 3, 8, 5}, 4);
  const Program program = pooling_program(
      [=](const Variable& x) { return conv2d(x, w); },
      [](const Variable& x) { return x; },
      [](const Variable& x) { return max_pool2d(x, 2, {.strides = 2}); },
      [=](const Variable& x) {
        return conv2d(fake_quantize(x, qparams(0.02f)),
                      fake_quantize(v, channel_qparams(5)));
      });
  Tensor images = noise({2, 9, 8, 3}, 7);
  images.f32()[30] = std::numeric_limits<float>::quiet_NaN();
  Tensor got({2, 2, 2, 5});
  EXPECT_FALSE(program.run({&images, 1}, {&got, 1}));
}

}  // namespace
}  // namespace octet::programs
