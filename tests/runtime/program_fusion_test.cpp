// Fusion and storage formats of programs.
#include <octet/runtime/detail/program_capture.h>

#include "programs.h"

namespace octet::programs {
namespace {

struct Window {
  int64_t h, w, c, kernel, k, stride, dilation, groups;
  Pads pads;
};
// Unequal sizes, partial vectors, groups.
const Window kWindows[] = {
    {7, 9, 3, 3, 17, 1, 1, 1, {1, 1}},   {8, 5, 1, 3, 8, 2, 1, 1, {0, 1, 0, 1}},
    {5, 6, 16, 1, 33, 1, 1, 1, {0, 0}},  {6, 7, 17, 3, 4, 1, 2, 1, {2, 2}},
    {9, 4, 8, 3, 24, 1, 1, 2, {1, 1}},   {6, 6, 4, 2, 1, 1, 1, 1, {0, 1, 1, 0}},
    {5, 5, 64, 1, 12, 2, 1, 1, {0, 0}},  {4, 7, 40, 3, 40, 1, 1, 1, {1, 1}},
    {6, 5, 12, 3, 12, 1, 1, 12, {1, 1}},
};

TEST_P(Programs, FuseConvolutionsWithTheirEpilogues) {
  for (const Window& s : kWindows) {
    SCOPED_TRACE(testing::Message() << s.h << "x" << s.w << "x" << s.c << " k"
                                    << s.kernel << " " << s.k);
    const WindowOptions options{
        .strides = s.stride, .dilation = s.dilation, .pads = s.pads};
    const Variable w = weight({s.kernel, s.kernel, s.c / s.groups, s.k});
    const Variable b = weight({s.k}, 3);
    const Shape sample{1, s.h, s.w, s.c};
    const auto conv = [=](const Variable& x) {
      return conv2d(x, w, options, s.groups);
    };
    // Padded inputs are copied.
    const int copies = s.pads == Pads{} ? 0 : 1;
    expect_same(conv, sample, copies);
    expect_same([=](const Variable& x) { return relu(bias_add(conv(x), b)); },
                sample, copies);
    expect_same([=](const Variable& x) { return relu(norm(conv(x)), 6); },
                sample, copies);
    const auto quantized = [=](const Variable& x) {
      return conv2d(fake_quantize(x, qparams(0.02f)),
                    fake_quantize(w, channel_qparams(s.k)), options, s.groups);
    };
    expect_same(quantized, sample, 1);
    expect_same(
        [=](const Variable& x) {
          return fake_quantize(relu(norm(quantized(x))), qparams(0.03f));
        },
        sample, 1);
  }
}

TEST_P(Programs, StoreBytesBetweenQuantizedOps) {
  for (const auto& [low, high] : kRanges) {
    const Variable first = weight({3, 3, 5, 18});
    const Variable second = weight({3, 3, 18, 7}, 3);
    const Variable depthwise = weight({3, 3, 7, 1}, 4);
    const Variable last = weight({4, 7, 7, 10}, 5);
    const Net net = [=](const Variable& x) {
      const WindowOptions same{.pads = 1};
      Variable y = conv2d(fake_quantize(x, qparams(0.02f, low, high)),
                          fake_quantize(first, channel_qparams(18)), same);
      y = fake_quantize(relu(norm(y)), qparams(0.05f, low, high));
      y = conv2d(y, fake_quantize(second, channel_qparams(7)), same);
      y = fake_quantize(relu(y, 6), qparams(0.05f, low, high));
      y = depthwise_conv2d(y, fake_quantize(depthwise, channel_qparams(7, 2)),
                           same);
      y = fake_quantize(norm(y), qparams(0.05f, low, high));
      return conv2d(y, fake_quantize(last, channel_qparams(10)));
    };
    expect_same(net, {1, 4, 7, 5}, 1);
    const Program program = capture(net, {1, 4, 7, 5});
    std::vector<std::string> stores;
    for (const ProgramStep& step : program.steps()) {
      stores.push_back(step.stores);
    }
    const std::string codes = low == -128 ? "int8" : "uint8";
    EXPECT_EQ(stores, (std::vector<std::string>{
                          codes + " 4x7x5", codes + " 4x7x18", codes + " 4x7x7",
                          codes + " 4x7x7", "f32 1x1x10"}));
  }
}

// Sums that are halves of a scale, stored as quantized values and as floats.
TEST_P(Programs, RoundTiesLikeOps) {
  Tensor few({3, 3, 4, 24});
  for (size_t i = 0; i < few.f32().size(); ++i) {
    few.f32()[i] = 0.5f * static_cast<float>(static_cast<int>(i * 7 % 5) - 2);
  }
  const Variable w(few);
  const Variable last = weight({3, 3, 24, 5}, 4);
  for (int low = -255; low <= 0; low += 15) {
    expect_same(
        [=](const Variable& x) {
          const Variable y =
              conv2d(fake_quantize(x, qparams(0.5f, low, low + 255)),
                     fake_quantize(w, qparams(0.5f)), {.pads = 1});
          const Variable z = relu(y, 90);
          return conv2d(fake_quantize(z, qparams(0.5f, low, low + 255)),
                        fake_quantize(last, channel_qparams(5)));
        },
        {1, 6, 7, 4}, 1);
  }
}

// Additions, with either operand computed last and in any storage format.
TEST_P(Programs, AddStoredValues) {
  const Variable a = weight({3, 3, 6, 19});
  const Variable b = weight({1, 1, 6, 19}, 3);
  const Variable c = weight({3, 3, 19, 19}, 4);
  const WindowOptions same{.pads = 1};
  const Shape sample{1, 5, 8, 6};
  const auto left = [=](const Variable& x) { return norm(conv2d(x, a, same)); };
  const auto right = [=](const Variable& x) { return norm(conv2d(x, b), 20); };
  expect_same(
      [=](const Variable& x) {
        const Variable y = left(x);
        return relu(add(y, right(x)));
      },
      sample, 1);
  expect_same(
      [=](const Variable& x) {
        const Variable y = right(x);
        return relu(add(left(x), y));
      },
      sample, 1);
  expect_same(
      [=](const Variable& x) {
        const Variable y = relu(right(x));
        return fake_quantize(add(left(x), y), qparams(0.04f));
      },
      sample, 1);
  for (const auto& [low, high] : kRanges) {
    expect_same(
        [=, from = low, to = high](const Variable& x) {
          const Variable y = fake_quantize(right(x), qparams(0.03f, from, to));
          const Variable z =
              conv2d(y, fake_quantize(c, channel_qparams(19)), same);
          return relu(add(norm(z), y));
        },
        sample, 0);
  }
  // Both terms from the input: only the sums can be fused.
  const Variable square = weight({3, 3, 6, 6}, 6);
  expect_same(
      [=](const Variable& x) { return relu(add(conv2d(x, square, same), x)); },
      sample, 1);
  expect_same(
      [=](const Variable& x) {
        return relu(add(x, conv2d(relu(x), square, same)));
      },
      sample, 1);
  // Both quantized.
  expect_same(
      [=](const Variable& x) {
        const Variable y = fake_quantize(right(x), qparams(0.05f));
        return add(fake_quantize(left(x), qparams(0.1f)), y);
      },
      sample, 1);
  expect_same(
      [=](const Variable& x) {
        const Variable y = fake_quantize(left(x), qparams(0.1f));
        return add(y, fake_quantize(right(x), qparams(0.05f)));
      },
      sample, 2);
}

TEST_P(Programs, StoreSeveralFormatsPerValue) {
  const Variable a = weight({3, 3, 6, 20});
  const Variable b = weight({3, 3, 20, 8}, 3);
  const Variable c = weight({5, 5, 20, 8}, 4);
  const Variable d = weight({1, 1, 20, 8}, 5);
  const Shape sample{1, 6, 5, 6};
  // A value with consumers of different padding, quantized in two ways and not
  // at all.
  expect_same(
      [=](const Variable& x) {
        const Variable y = relu(norm(conv2d(x, a, {.pads = 1})));
        const Variable p =
            conv2d(fake_quantize(y, qparams(0.03f)),
                   fake_quantize(b, channel_qparams(8)), {.pads = 1});
        const Variable q =
            conv2d(fake_quantize(y, qparams(0.05f)),
                   fake_quantize(c, channel_qparams(8)), {.pads = 2});
        return add(add(p, q), conv2d(y, d));
      },
      sample, 1);
  // Sums that are used directly and normalized twice.
  expect_same(
      [=](const Variable& x) {
        const Variable y = conv2d(x, a, {.pads = 1});
        const Variable p = conv2d(relu(norm(y)), b, {.pads = 1});
        const Variable q = conv2d(norm(y, 30), c, {.pads = 2});
        return add(add(p, q), conv2d(y, d));
      },
      sample, 3);
  expect_same(
      [=](const Variable& x) {
        const Variable y = conv2d(x, a, {.pads = 1});
        return add(y, y);
      },
      sample, 2);
}

TEST_P(Programs, MultiplyRows) {
  for (const int64_t depth : {3, 16, 37, 600}) {
    const Variable w = weight({depth, 21});
    const Variable v = weight({21, 5}, 3);
    const Variable b = weight({21}, 4);
    const auto net = [=](const Variable& x) {
      return dense(relu(bias_add(dense(x, w), b)), v);
    };
    expect_same(net, {1, depth}, 0);
    expect_same(net, {1, 4, depth}, 0);
    expect_same(
        [=](const Variable& x) {
          const Variable y =
              bias_add(dense(fake_quantize(x, qparams(0.02f)),
                             fake_quantize(w, channel_qparams(21, 1))),
                       b);
          return dense(fake_quantize(relu(y), qparams(0.1f)),
                       fake_quantize(v, channel_qparams(5, 1)));
        },
        {1, 4, depth}, 1);
  }
}

TEST_P(Programs, FuseActivations) {
  const Variable w = weight({3, 3, 5, 21});
  const Variable v = weight({1, 1, 21, 6}, 3);
  const Shape sample{1, 5, 7, 5};
  const auto conv = [=](const Variable& x) { return conv2d(x, w); };
  const std::vector<std::function<Variable(const Variable&)>> functions{
      [](const Variable& x) { return swish(x); },
      [](const Variable& x) { return sigmoid(x); },
      [](const Variable& x) { return hard_swish(x); },
      [](const Variable& x) { return gelu(x, GeluForm::exact); },
      [](const Variable& x) { return leaky_relu(x, 0.1f); },
      [](const Variable& x) { return octet::tanh(x); }};
  for (const auto& f : functions) {
    expect_same([=](const Variable& x) { return f(norm(conv(x))); }, sample, 0);
    expect_same(
        [=](const Variable& x) {
          const Variable y = fake_quantize(f(norm(conv(x))), qparams(0.02f));
          return f(conv2d(y, fake_quantize(v, channel_qparams(6))));
        },
        sample, 0);
    // Of an input, of two terms, of another activation, with two consumers.
    expect_same([=](const Variable& x) { return conv2d(f(x), w); }, sample, 1);
    expect_same(
        [=](const Variable& x) {
          const Variable y = f(norm(conv(x)));
          const Variable z = f(add(conv(x), y));
          return f(f(fake_quantize(z, qparams(0.1f))));
        },
        sample, 1);
    expect_same(
        [=](const Variable& x) {
          const Variable y = norm(conv(x));
          return add(conv2d(f(y), v), conv2d(relu(y), v));
        },
        sample, 2);
  }
}

TEST_P(Programs, ScaleChannelsBySampleByComputedValues) {
  for (const int64_t k : {1, 3, 17, 64}) {
    SCOPED_TRACE(k);
    const Variable body = weight({3, 3, 5, k});
    const Variable squeeze = weight({4, 6, 5, k}, 3);
    const Variable last = weight({1, 1, k, 10}, 5);
    const Variable wide = weight({3, 3, k, 10}, 6);
    const auto excited = [=](const Variable& x) {
      const Variable by = sigmoid(conv2d(x, squeeze));
      return std::pair{swish(conv2d(x, body)), by};
    };
    const Shape sample{1, 4, 6, 5};
    expect_same(
        [=](const Variable& x) {
          const auto [y, by] = excited(x);
          return multiply(y, by);
        },
        sample, 1);
    expect_same(
        [=](const Variable& x) {
          const auto [y, by] = excited(x);
          return conv2d(fake_quantize(multiply(by, y), qparams(0.02f)),
                        fake_quantize(last, channel_qparams(10)));
        },
        sample, 1);
    expect_same(
        [=](const Variable& x) {
          const auto [y, by] = excited(x);
          const Variable z = multiply(fake_quantize(y, qparams(0.05f)),
                                      fake_quantize(by, qparams(0.01f)));
          return conv2d(fake_quantize(z, qparams(0.02f)),
                        fake_quantize(wide, channel_qparams(10)), {.pads = 1});
        },
        sample, 1);
    // Zero padded, with two consumers, and through a function.
    expect_same(
        [=](const Variable& x) {
          const Variable quantized = fake_quantize(x, qparams(0.02f));
          const auto [y, by] = excited(quantized);
          const Variable z = multiply(y, by);
          const Variable read = conv2d(relu(norm(z)), wide, {.pads = 1});
          const Variable again = conv2d(swish(z), wide, {.pads = 1});
          return add(read, again);
        },
        sample, 4);
  }
}

TEST_P(Programs, PreserveSignsOfZeros) {
  const Variable zeros(Tensor::zeros({1, 1, 4, 18}));
  const Variable minus(Tensor::full({18}, -0.0f));
  expect_same(
      [=](const Variable& x) {
        return add(bias_add(conv2d(x, zeros), minus), conv2d(x, zeros));
      },
      {1, 2, 3, 4}, 0);
}

TEST_P(Programs, FuseOpsOnSequences) {
  const Variable first = weight({5, 3, 18});
  const Variable depthwise = weight({3, 18, 1}, 3);
  const Variable second = weight({3, 18, 7}, 4);
  const Variable third = weight({2, 9, 14}, 5);
  const Shape sample{1, 23, 3};
  const WindowOptions1D same{.pads = 1};
  expect_same(
      [=](const Variable& x) {
        Variable y = relu(norm(conv1d(x, first, {.stride = 2})));
        y = relu(norm(depthwise_conv1d(y, depthwise, same)), 6);
        return add(conv1d(y, second, same), conv1d(y, second, {.pads{2, 0}}));
      },
      sample, 0);
  const Net net = [=](const Variable& x) {
    Variable y = conv1d(fake_quantize(x, qparams(0.02f)),
                        fake_quantize(first, channel_qparams(18, 2)),
                        {.stride = 3, .dilation = 2});
    y = fake_quantize(relu(norm(y)), qparams(0.05f));
    y = depthwise_conv1d(y, fake_quantize(depthwise, channel_qparams(18, 1)),
                         same);
    y = fake_quantize(norm(y), qparams(0.05f));
    const Variable z = conv1d(y, fake_quantize(third, channel_qparams(14, 2)),
                              {.pads{1, 0}}, 2);
    y = conv1d(y, fake_quantize(weight({3, 18, 14}, 6), channel_qparams(14, 2)),
               {.dilation = 2, .pads{4, 0}});
    return relu(add(y, fake_quantize(z, qparams(0.1f))));
  };
  expect_same(net, sample, 1);
  std::vector<std::string> stores;
  for (const ProgramStep& step : capture(net, sample).steps()) {
    stores.push_back(step.stores);
  }
  EXPECT_THAT(stores,
              testing::ElementsAre("int8 23x3", "int8 5x18",
                                   // Groups of 9 channels do not fill words.
                                   "int8 as f32 5x18 + int8 5x18", "int8 5x14",
                                   "f32 5x14"));

  const Net narrow = [=](const Variable& v) {
    return relu(conv1d(v, weight({1, 3, 18}), {}), 6);
  };
  const Net padded = [](const Variable& v) { return pad1d(v, {2, 0}); };
  const Net last = [=](const Variable& v) {
    return conv1d(fake_quantize(v, qparams(0.05f)),
                  fake_quantize(second, channel_qparams(7, 2)));
  };
  const NoGradGuard no_grad;
  ProgramCapture all;
  const Variable x = all.input(sample);
  Variable y = call(all, "narrow", x, narrow);
  y = call(all, "pad", y, padded);
  y = call(all, "last", y, last);
  const Program program = all.finish({&y, 1});
  EXPECT_EQ(count(program, "call"), 0);
  const Tensor signals = noise({5, 23, 3});
  const Variable expected = last(padded(narrow(Variable(signals))));
  Tensor got(expected.shape());
  ASSERT_TRUE(program.run({&signals, 1}, {&got, 1}));
  EXPECT_EQ(bits(got), bits(expected));
}

// Residual blocks: an op and an epilogue consume the same value.
TEST_P(Programs, StoreAValueOnceForAnOpAndAnEpilogue) {
  const Net net = [](const Variable& x) {
    const Variable y = dense(x, weight({5, 7}));
    const Variable z =
        add(dense(layer_norm(y, {}, {}, 1e-3f), weight({7, 7})), y);
    return add(dense(layer_norm(z, {}, {}, 1e-3f), weight({7, 7}, 3)), z);
  };
  const Shape sample{1, 6, 5};
  expect_same(net, sample, 0);
  for (const ProgramStep& step : capture(net, sample).steps()) {
    EXPECT_EQ(step.stores, "f32 6x7") << step.op;
  }
}

}  // namespace
}  // namespace octet::programs
