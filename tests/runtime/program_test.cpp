// Execution of programs: padding, calls, threads, NaN.

#include <limits>
#include <thread>

#include <octet/runtime/detail/program_capture.h>

#include "programs.h"

namespace octet::programs {
namespace {

TEST_P(Programs, ReportNan) {
  const Variable w = weight({1, 1, 4, 18});
  const Net net = [=](const Variable& x) {
    return fake_quantize(relu(conv2d(x, w)), qparams(0.1f));
  };
  const Net deeper = [=](const Variable& x) {
    return conv2d(net(x),
                  fake_quantize(weight({1, 1, 18, 3}), channel_qparams(3)));
  };
  const Program program = capture(deeper, {1, 2, 2, 4});
  Tensor x = noise({5, 2, 2, 4});
  x.f32()[37] = std::numeric_limits<float>::quiet_NaN();
  Tensor y({5, 2, 2, 3});
  EXPECT_FALSE(program.run({&x, 1}, {&y, 1}));
  x.f32()[37] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(program.run({&x, 1}, {&y, 1}));
}

// Zero padding is stored around an image unless a consumer uses the padding
// itself.
TEST_P(Programs, StorePaddingForConsumers) {
  const Variable first = weight({1, 1, 3, 18});
  const Variable second = weight({3, 3, 18, 1}, 4);
  const Net narrow = [=](const Variable& v) {
    return relu(conv2d(v, first), 6);
  };
  const Net padded = [](const Variable& v) {
    return pad2d(v, Pads(0, 1, 2, 1));
  };
  const Net windows = [=](const Variable& v) {
    return depthwise_conv2d(v, second, {.strides = 2, .pads = 1});
  };
  const Net pooled = [](const Variable& v) { return max_pool2d(v, 2, {}); };
  const NoGradGuard no_grad;
  const Tensor images = noise({5, 6, 7, 3});
  std::vector<int> calls;
  std::vector<Net> readers = {windows, pooled};
  for (const auto& [low, high] : kRanges) {
    readers.push_back(
        [=, codes = qparams(0.05f, low, high)](const Variable& v) {
          return depthwise_conv2d(fake_quantize(v, codes),
                                  fake_quantize(second, channel_qparams(18, 2)),
                                  {.strides = 2});
        });
  }
  for (const Net& last : readers) {
    ProgramCapture capture;
    const Variable x = capture.input({1, 6, 7, 3});
    Variable y = call(capture, "narrow", x, narrow);
    y = call(capture, "pad", y, padded);
    y = call(capture, "last", y, last);
    const Program program = capture.finish({&y, 1});
    calls.push_back(count(program, "pad2d") + count(program, "max_pool2d"));
    const Variable expected = last(padded(narrow(Variable(images))));
    Tensor got(expected.shape());
    ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
    EXPECT_EQ(bits(got), bits(expected));
  }
  EXPECT_THAT(calls, testing::ElementsAre(0, 2, 0, 0, 0, 0, 0));
}

// Zero is outside the range of such quantization: Q maps padding to another
// value.
TEST_P(Programs, QuantizePaddingAroundImages) {
  const Variable first = weight({1, 1, 3, 18});
  const Variable second = weight({3, 3, 18, 4}, 4);
  const Net quantized = [=](const Variable& v) {
    return fake_quantize(conv2d(v, first), qparams(0.05f, 5, 200));
  };
  const Net padded = [](const Variable& v) { return pad2d(v, Pads(1)); };
  const Net last = [=](const Variable& v) {
    return conv2d(fake_quantize(v, qparams(0.05f, 5, 200)), second);
  };
  const NoGradGuard no_grad;
  ProgramCapture capture;
  const Variable x = capture.input({1, 6, 7, 3});
  Variable y = call(capture, "quantized", x, quantized);
  y = call(capture, "padded", y, padded);
  y = call(capture, "last", y, last);
  const Program program = capture.finish({&y, 1});
  const Tensor images = noise({5, 6, 7, 3});
  const Variable expected = last(padded(quantized(Variable(images))));
  Tensor got(expected.shape());
  ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
  EXPECT_EQ(bits(got), bits(expected));
}

// Sequences are single-row images: epilogues are fused, bytes are stored
// between quantized ops, and padding is stored around a sequence.
TEST_P(Programs, CallFunctionsWithOtherOps) {
  const Variable w = weight({3, 3, 4, 6});
  const Net custom = [](const Variable& v) {
    return record("copy", {v}, v.value().clone(),
                  [](const Tensor& dy) { return std::vector{dy}; });
  };
  const NoGradGuard no_grad;
  ProgramCapture capture;
  const Variable x = capture.input({1, 6, 5, 4});
  const auto step = [&](const std::string& name, const Variable& in,
                        const Net& net) {
    return call(capture, name, in, net);
  };
  const Net conv = [=](const Variable& v) {
    return fake_quantize(conv2d(v, w, {.pads = 1}), qparams(0.05f));
  };
  const Net pool = [](const Variable& v) { return max_pool2d(v, 2, {}); };
  const Net both = [=](const Variable& v) { return custom(conv(v)); };
  Variable y = step("conv", x, conv);
  y = step("pool", y, pool);
  y = step("both", y, [=](const Variable& v) {
    return custom(conv2d(v, weight({1, 1, 6, 4}, 9)));
  });
  y = step("again", y, both);
  const Program program = capture.finish({&y, 1});
  EXPECT_EQ(count(program, "call"), 2);
  EXPECT_EQ(count(program, "max_pool2d"), 1);
  const Tensor images = noise({19, 6, 5, 4});
  Variable expected = pool(conv(Variable(images)));
  expected = both(conv2d(expected, weight({1, 1, 6, 4}, 9)));
  Tensor got(expected.shape());
  ASSERT_TRUE(program.run({&images, 1}, {&got, 1}));
  EXPECT_EQ(bits(got), bits(expected));
}

// Ops without fusion leave the ops around them fused.
TEST_P(Programs, RunOpsOnPlannedBuffers) {
  const Net net = [](const Variable& x) {
    const Variable y = relu(norm(conv2d(x, weight({1, 1, 3, 6}))));
    const Variable p = softmax(concatenate({y, avg_pool2d(y, 1, {})}, -1));
    const Variable z = relu(norm(conv2d(p, weight({1, 1, 12, 5}))));
    const Variable rows =
        transpose(reshape(z, {z.shape()[0], 20, 5}), {0, 2, 1});
    return subtract(matmul(rows, rows, {.transpose_b = true}),
                    Variable(noise({5, 5})));
  };
  expect_same(net, {1, 4, 5, 3}, 1);  // the pool's part of the concatenation
  const Program program = capture(net, {1, 4, 5, 3});
  EXPECT_EQ(count(program, "conv2d"), 2);
  EXPECT_EQ(count(program, "softmax"), 1);
  EXPECT_EQ(count(program, "reshape"), 0);  // shares its input's buffer
  EXPECT_EQ(count(program, "constant"), 0);
}

TEST_P(Programs, ReadConstants) {
  const Variable c = weight({1, 4, 3}, 8);
  const Net net = [=](const Variable& x) {
    Variable y = add(dense(x, weight({3, 3})), c);
    y = concatenate({broadcast_to(weight({1, 1, 3}), {x.shape()[0], 1, 3}), y},
                    1);
    return multiply(
        where(compare(Comparison::less, y, Variable(Tensor::scalar(0.2f))), y,
              relu(y)),
        Variable(noise({3})));
  };
  expect_same(net, {1, 4, 3}, 1);  // relu
}

TEST_P(Programs, RunInSeveralThreadsAtOnce) {
  const Variable w = weight({3, 3, 3, 20});
  const Net net = [=](const Variable& x) {
    return relu(norm(conv2d(x, w, {.pads = 1})));
  };
  const Program program = capture(net, {1, 8, 8, 3});
  const Tensor x = noise({9, 8, 8, 3});
  const NoGradGuard no_grad;
  const auto expected = bits(net(Variable(x)));
  std::vector<Tensor> results(4);
  std::vector<std::thread> threads;
  for (Tensor& y : results) {
    threads.emplace_back([&] {
      y = Tensor({9, 8, 8, 20});
      for (int i = 0; i < 5; ++i) (void)program.run({&x, 1}, {&y, 1});
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& y : results) EXPECT_EQ(bits(y), expected);
}

INSTANTIATE_TEST_SUITE_P(Isa, Programs, every_isa(), isa_name);

TEST(ProgramCapture, RejectsAnotherInstructionSet) {
  if (supported_isas().size() < 2) GTEST_SKIP() << "one instruction set only";
  const Program program = capture(
      [](const Variable& x) {
        return relu(dense(x, weight({4, 3})));
      },
      {1, 4});
  const Isa before = active_isa();
  const auto isas = supported_isas();
  set_active_isa(isas[0] == before ? isas[1] : isas[0]);
  const Tensor x = noise({1, 4});
  Tensor y({1, 3});
  const Failure failure = failure_of<ValueError>([&] {
    (void)program.run({&x, 1}, {&y, 1});
  });
  set_active_isa(before);
  EXPECT_EQ(failure, (Failure{"invalid_state", "program"}));
}

}  // namespace
}  // namespace octet::programs
