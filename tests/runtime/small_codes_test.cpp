// Quantized values in 0 to 127, as after ReLU: instruction sets without byte
// dot products multiply them faster than signed values.

#include <span>
#include <utility>

#include <octet/runtime/detail/program_capture.h>

#include "programs.h"

namespace octet::programs {
namespace {

class SmallCodes : public Programs {};

// Ops on images [3,6,8,12] with nonnegative results; again 12 channels.
std::vector<std::pair<std::string, Net>> nonnegative_values() {
  return {
      {"relu", [](const Variable& x) { return relu(x); }},
      {"relu6", [](const Variable& x) { return relu(norm(x), 6); }},
      {"max_pool2d",
       [](const Variable& x) {
         return max_pool2d(relu(x), {3, 2}, {.strides = 1});
       }},
      {"avg_pool2d",
       [](const Variable& x) {
         return avg_pool2d(relu(x), {2, 3}, {.strides = 1});
       }},
      {"pad2d", [](const Variable& x) { return pad2d(relu(x), Pads(1, 0)); }},
      {"reshape",
       [](const Variable& x) {
         return reshape(relu(x), {3, 8, 6, 12});
       }},
      {"concatenate",
       [](const Variable& x) {
         return reshape(concatenate({relu(x), relu(norm(x))}, -1),
                        {3, 12, 8, 12});
       }},
      {"mean",
       [](const Variable& x) {
         return mean(relu(x), {1, 2}, Keepdims::yes);
       }},
      {"add", [](const Variable& x) { return relu(add(x, norm(x))); }},
  };
}

std::vector<std::pair<std::string, Net>> linear_ops() {
  const auto quantized = [](const Variable& w) {
    return fake_quantize(w, channel_qparams(w.shape()[-1], -1));
  };
  const WindowOptions same{.pads = 1};
  return {
      {"conv2d",
       [=](const Variable& x) {
         return conv2d(x, quantized(weight({3, 3, 12, 17})), same);
       }},
      {"groups of 4 channels",
       [=](const Variable& x) {
         return conv2d(x, quantized(weight({3, 3, 4, 9})), same, 3);
       }},
      {"groups of 2 channels",
       [=](const Variable& x) {
         return conv2d(x, quantized(weight({3, 3, 2, 18})), same, 6);
       }},
      {"depthwise_conv2d",
       [=](const Variable& x) {
         return depthwise_conv2d(
             x, fake_quantize(weight({3, 3, 12, 1}), channel_qparams(12, 2)),
             same);
       }},
      {"depthwise_conv2d, 30 rows",
       [=](const Variable& x) {
         return depthwise_conv2d(
             x, fake_quantize(weight({30, 1, 12, 1}), channel_qparams(12, 2)),
             {.pads{15, 15, 0, 0}});
       }},
      {"dense",
       [=](const Variable& x) {
         return dense(x, quantized(weight({12, 35})));
       }},
  };
}

TEST_P(SmallCodes, MatchFloatProductsBitwise) {
  const Tensor images = noise({3, 6, 8, 12});
  for (const auto& [value_name, value] : nonnegative_values())
    for (const auto& [op_name, op] : linear_ops()) {
      SCOPED_TRACE(value_name + ", " + op_name);
      for (const bool trained : {false, true}) {
        const auto run = [&] {
          const Variable x(images, trained);
          const Variable y = op(fake_quantize(value(x), qparams(0.01f)));
          if (!trained) return std::pair(bits(y), std::vector<uint32_t>());
          sum(multiply(y, y)).backward();
          return std::pair(bits(y), bits(x.grad()));
        };
        const auto integers = run();
        const FloatGemmGuard guard;
        EXPECT_EQ(integers, run());
      }
    }
}

// Sums of two products close to 16 bits.
TEST_P(SmallCodes, DoNotSaturate) {
  const NoGradGuard no_grad;
  const QuantParams codes = qparams(1);
  for (const float w : {-128.0f, 127.0f}) {
    const Variable x = relu(Variable(Tensor::full({2, 700}, 1000)));
    const Variable kernel(Tensor::full({700, 35}, w));
    const Tensor y =
        dense(fake_quantize(x, codes), fake_quantize(kernel, codes)).value();
    for (const float v : y.f32()) EXPECT_EQ(v, 700 * 127 * w);
    const Variable images = reshape(x, {2, 10, 7, 10});
    const Variable taps(Tensor::full({5, 5, 10, 1}, w));
    const Tensor z = depthwise_conv2d(fake_quantize(images, codes),
                                      fake_quantize(taps, codes))
                         .value();
    for (const float v : z.f32()) EXPECT_EQ(v, 25 * 127 * w);
  }
}

// The write bypasses the op that checked the sign.
TEST_P(SmallCodes, DetectLaterWrites) {
  const NoGradGuard no_grad;
  for (const int64_t c : {1, 2, 3, 5, 12, 17, 40}) {
    const Variable w =
        fake_quantize(weight({1, 1, c, 16}), channel_qparams(16));
    for (const int64_t at : {int64_t{0}, c * 7, c * 8 - 1}) {
      SCOPED_TRACE(testing::Message() << c << " channels, " << at);
      const Variable x =
          max_pool2d(relu(Variable(noise({1, 8, 1, c}))), {1, 1}, {});
      Tensor values = x.value();
      values.f32()[static_cast<size_t>(at)] = -0.3f;
      const auto run = [&] {
        return bits(conv2d(fake_quantize(x, qparams(0.01f)), w));
      };
      const auto integers = run();
      const FloatGemmGuard guard;
      EXPECT_EQ(integers, run());
    }
  }
}

// A custom layer may return any values: each run calls it again.
TEST_P(SmallCodes, AreNotAssumedOfCalledFunctions) {
  const NoGradGuard no_grad;
  const Variable w = fake_quantize(weight({3, 3, 5, 16}), channel_qparams(16));
  bool positive = true;
  const Net custom = [&](const Variable& x) {
    const Variable y = record("custom", {x}, x.value().clone(), {}, {});
    return positive ? relu(y) : y;
  };
  const Net last = [=](const Variable& x) {
    return conv2d(fake_quantize(x, qparams(0.01f)), w);
  };
  ProgramCapture capture;
  const Variable x = capture.input({1, 6, 7, 5});
  const Variable y =
      call(capture, "last", call(capture, "custom", x, custom), last);
  const Program program = capture.finish({&y, 1});
  positive = false;
  const Tensor images = noise({4, 6, 7, 5}, 7);
  const Variable expected = last(custom(Variable(images)));
  Tensor got(expected.shape());
  ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
  EXPECT_EQ(bits(got), bits(expected));
}

// As with observers and hooks.
TEST_P(SmallCodes, SurviveAccessToValues) {
  const NoGradGuard no_grad;
  const Variable w = fake_quantize(weight({3, 3, 5, 16}), channel_qparams(16));
  const Variable x = relu(Variable(noise({2, 6, 7, 5})));
  const auto run = [&] {
    return bits(conv2d(fake_quantize(x, qparams(0.01f)), w));
  };
  const auto before = run();
  (void)x.value();
  EXPECT_EQ(run(), before);
}

TEST_P(SmallCodes, PropagateNan) {
  const NoGradGuard no_grad;
  const Variable w =
      fake_quantize(Variable(Tensor::full({22, 1}, 1)), qparams(1));
  for (size_t i = 0; i < 22; ++i) {
    Tensor row = Tensor::full({1, 22}, 1);
    row.f32()[i] = NAN;
    const Variable x = fake_quantize(relu(Variable(row)), qparams(1));
    EXPECT_TRUE(std::isnan(dense(x, w).value().item()));
  }
}

// A weight of signed and unsigned activations is packed for both.
TEST_P(SmallCodes, ShareWeightsWithSignedActivations) {
  const NoGradGuard no_grad;
  const Variable w = weight({3, 3, 5, 20});
  const Variable x(noise({1, 6, 7, 5}));
  for (int round = 0; round < 3; ++round) {
    for (const Variable& value : {x, relu(x)}) {
      const auto run = [&] {
        return bits(conv2d(fake_quantize(value, qparams(0.01f)),
                           fake_quantize(w, channel_qparams(20))));
      };
      const auto integers = run();
      const FloatGemmGuard guard;
      EXPECT_EQ(integers, run());
    }
  }
}

// In programs: some consumers accept bytes, others do not.
TEST_P(SmallCodes, AreStoredInTheFormatsOfConsumers) {
  const Variable first = weight({3, 3, 6, 12}),
                 last = weight({1, 1, 12, 12}, 8);
  const Variable all = weight({3, 3, 12, 12}, 3),
                 groups = weight({3, 3, 2, 12}, 4);
  const auto quantized = [](const Variable& x) {
    return fake_quantize(x, qparams(0.02f));
  };
  const auto kernel = [](const Variable& w) {
    return fake_quantize(w, channel_qparams(12));
  };
  const WindowOptions same{.pads = 1};
  const Net block = [=](const Variable& x) {
    return quantized(relu(norm(conv2d(quantized(x), kernel(first), same))));
  };
  const Net convolution = [=](const Variable& x) {
    return conv2d(x, kernel(all), same);
  };
  const Net grouped = [=](const Variable& x) {
    return conv2d(x, kernel(groups), same, 6);
  };
  const Shape sample{1, 7, 5, 6};
  for (const auto& [one, two] :
       {std::pair(convolution, grouped), std::pair(grouped, convolution),
        std::pair(convolution, convolution), std::pair(grouped, grouped)}) {
    // The value is also added.
    expect_same(
        [=](const Variable& x) {
          const Variable y = block(x);
          const Variable z = relu(add(one(y), y));
          return conv2d(quantized(add(two(y), z)), kernel(last));
        },
        sample, 1);
    expect_same(
        [=](const Variable& x) {
          const Variable y = block(x);
          return add(norm(two(quantized(relu(norm(one(y)))))), y);
        },
        sample, 1);
  }
}

TEST_P(SmallCodes, SurvivePooling) {
  const NoGradGuard no_grad;
  const Variable first = weight({3, 3, 6, 12});
  const Variable all = weight({3, 3, 12, 12}, 3),
                 groups = weight({3, 3, 2, 12}, 4);
  const auto kernel = [](const Variable& w) {
    return fake_quantize(w, channel_qparams(12));
  };
  const Net before = [=](const Variable& x) { return relu(conv2d(x, first)); };
  const Net pool = [](const Variable& x) {
    return fake_quantize(max_pool2d(x, 2, {.strides = 2}), qparams(0.02f));
  };
  const Net convolution = [=](const Variable& x) {
    return conv2d(x, kernel(all), {.pads = 1});
  };
  const Net grouped = [=](const Variable& x) {
    return conv2d(x, kernel(groups), {.pads = 1}, 6);
  };
  for (const auto& [one, two] :
       {std::pair(convolution, convolution), std::pair(grouped, grouped),
        std::pair(convolution, grouped), std::pair(grouped, convolution)}) {
    ProgramCapture capture;
    const Variable x = capture.input({1, 10, 9, 6});
    const Variable y =
        call(capture, "pool", call(capture, "first", x, before), pool);
    const Net both = [one = one, two = two](const Variable& v) {
      return add(one(v), two(v));
    };
    const Variable z = call(capture, "last", y, both);
    const Program program = capture.finish({&z, 1});
    const Tensor images = noise({5, 10, 9, 6}, 7);
    const Variable expected = both(pool(before(Variable(images))));
    Tensor got(expected.shape());
    ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
    EXPECT_EQ(bits(got), bits(expected));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, SmallCodes, every_isa(), isa_name);

}  // namespace
}  // namespace octet::programs
