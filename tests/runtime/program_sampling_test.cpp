// Pixels skipped by all consumers (1x1 convolutions with stride) are not
// computed.
#include <octet/runtime/detail/program_capture.h>
#include <octet/runtime/parallel.h>

#include "programs.h"

namespace octet::programs {
namespace {

using testing::ElementsAre;

std::vector<std::string> stores(const Program& program) {
  std::vector<std::string> result;
  for (const ProgramStep& step : program.steps()) result.push_back(step.stores);
  return result;
}

Variable quantized(const Variable& x, float scale = 0.05f) {
  return fake_quantize(x, qparams(scale));
}

// The end of a ResNet stage and the beginning of the next.
struct Stage {
  Size2 strides;
  bool codes;

  Variable q(const Variable& x) const { return codes ? quantized(x) : x; }
  Variable conv(const Variable& x, const Shape& kernel, uint64_t seed,
                const WindowOptions& options = {}) const {
    const Variable w = weight(kernel, seed);
    return codes ? conv2d(quantized(x, 0.05f),
                          fake_quantize(w, channel_qparams(kernel[3])), options)
                 : conv2d(x, w, options);
  }
  Variable operator()(const Variable& image) const {
    const Variable x = relu(norm(conv(image, {1, 1, 3, 20}, 2)));
    Variable y = relu(norm(conv(x, {1, 1, 20, 8}, 7)));
    y = relu(norm(conv(y, {3, 3, 8, 8}, 3, {.pads = 1})));
    y = norm(conv(y, {1, 1, 8, 20}, 4));
    y = relu(add(y, q(x)));
    const WindowOptions every{.strides = strides};
    const Variable left = conv(y, {1, 1, 20, 33}, 5, every);
    const Variable right = relu(norm(conv(y, {1, 1, 20, 33}, 6, every)));
    return add(norm(left), right);
  }
};

TEST_P(Programs, ComputeOnlyConsumedPixels) {
  for (const bool codes : {false, true}) {
    for (const Size2 strides : {Size2{2, 2}, Size2{3, 2}, Size2{1, 4}}) {
      SCOPED_TRACE(testing::Message()
                   << codes << " " << strides.h << "x" << strides.w);
      const Stage stage{strides, codes};
      // Includes axes of a single pixel, where stride 2 skips nothing.
      for (const Shape& sample :
           {Shape{1, 7, 9, 3}, Shape{1, 12, 8, 3}, Shape{1, 1, 1, 3},
            Shape{1, 5, 1, 3}, Shape{1, 1, 6, 3}}) {
        expect_same(stage, sample, codes ? 1 : 0);
        const SerialGuard alone;  // chunks of several samples
        expect_same(stage, sample, codes ? 1 : 0);
      }
    }
  }
  EXPECT_THAT(stores(capture(Stage{{3, 2}, false}, {1, 7, 9, 3})),
              ElementsAre("f32 7x9x20", "f32 7x9x8", "f32 3x5x8", "f32 3x5x20",
                          "f32 3x5x33", "f32 3x5x33"));
  EXPECT_THAT(
      stores(capture(Stage{{2, 2}, true}, {1, 7, 9, 3})),
      ElementsAre("int8 7x9x3", "int8 7x9x20", "int8 7x9x8", "int8 4x5x8",
                  "int8 4x5x20", "f32 4x5x33", "f32 4x5x33"));
}

TEST_P(Programs, ReportSkippedPixels) {
  const Program program = capture(Stage{{2, 2}, false}, {1, 7, 9, 3});
  const ProgramStep step = program.steps()[2];
  EXPECT_EQ(step.note, "of 7x9 pixels; the others are unused");
  EXPECT_EQ(step.multiply_adds, 4 * 5 * 3 * 3 * 8 * 8);
  EXPECT_EQ(program.steps()[0].note, "");
  const Program one = capture(Stage{{2, 2}, false}, {1, 1, 1, 3});
  for (const ProgramStep& all : one.steps()) EXPECT_EQ(all.note, "");
}

// Stored output of a convolution with consumers of the given options; outputs
// match those without a program.
std::string stored_for(const std::vector<WindowOptions>& readers,
                       int64_t kernel = 1, bool is_output = false) {
  const Net first = [w = weight({3, 3, 4, 6})](const Variable& x) {
    return relu(conv2d(x, w, {.pads = 1}));
  };
  const NoGradGuard no_grad;
  ProgramCapture all;
  const Variable y = call(all, "first", all.input({1, 11, 13, 4}), first);
  const Tensor images = noise({3, 11, 13, 4}, 7);
  const Variable whole = first(Variable(images));
  std::vector<Variable> outputs, expected;
  if (is_output) {
    outputs.push_back(y);
    expected.push_back(whole);
  }
  for (const WindowOptions& options : readers) {
    const Net next = [=, w = weight({kernel, kernel, 6, 5}, 3)](
                         const Variable& x) { return conv2d(x, w, options); };
    outputs.push_back(call(all, "next", y, next));
    expected.push_back(next(whole));
  }
  const Program program = all.finish(outputs);
  std::vector<Tensor> got;
  for (const Variable& e : expected) got.emplace_back(e.shape());
  EXPECT_TRUE(program.run({&images, 1}, got));
  for (size_t i = 0; i < got.size(); ++i) {
    EXPECT_EQ(bits(got[i]), bits(expected[i].value())) << i;
  }
  for (const ProgramStep& step : program.steps()) {
    if (step.name == "first" && step.op == "conv2d") return step.stores;
  }
  return {};
}

// Other consumers need all pixels.
TEST_P(Programs, ComputeAllPixelsForOtherConsumers) {
  const WindowOptions every{.strides = 1}, second{.strides = 2},
      third{.strides = 3}, fourth{.strides = 4}, sixth{.strides = 6};
  EXPECT_EQ(stored_for({second}), "f32 6x7x6");
  EXPECT_EQ(stored_for({third}), "f32 4x5x6");
  EXPECT_EQ(stored_for({fourth, second}), "f32 6x7x6");
  EXPECT_EQ(stored_for({fourth, sixth}), "f32 6x7x6");
  EXPECT_EQ(stored_for({{.strides{1, 2}}, {.strides{2, 4}}}), "f32 11x7x6");
  EXPECT_EQ(stored_for({second, third}), "f32 11x13x6");
  EXPECT_EQ(stored_for({second, every}), "f32 11x13x6");
  EXPECT_EQ(stored_for({{.strides = 2, .pads = 1}}), "f32 11x13x6");
  EXPECT_EQ(stored_for({{.strides = 2, .pads{0, 1, 0, 0}}}), "f32 11x13x6");
  EXPECT_EQ(stored_for({second}, 2), "f32 11x13x6");
  EXPECT_EQ(stored_for({second}, 1, true), "f32 11x13x6 + f32 11x13x6");
}

TEST_P(Programs, SkipPixelsThroughSeveralStrides) {
  const Variable w = weight({3, 3, 4, 12});
  const Net net = [=](const Variable& x) {
    Variable y = relu(conv2d(x, w, {.pads = 1}));
    y = relu(conv2d(y, weight({1, 1, 6, 12}, 3), {.strides = 2}, 2));
    y = conv2d(y, weight({1, 1, 12, 7}, 4), {.strides{2, 3}});
    return relu(y, 6);
  };
  for (const Shape& sample : {Shape{1, 9, 14, 4}, Shape{1, 1, 1, 4}}) {
    expect_same(net, sample, 1);
  }
  EXPECT_THAT(
      stores(capture(net, {1, 9, 14, 4})),
      ElementsAre("f32 9x14x4", "f32 3x3x12", "f32 3x3x12", "f32 3x3x7"));
}

TEST_P(Programs, SkipStepsOfSequences) {
  const Net net = [](const Variable& x) {
    const Variable y = relu(conv1d(x, weight({3, 4, 18}), {.pads{2, 0}}));
    return relu(conv1d(y, weight({1, 18, 5}, 3), {.stride = 2}), 6);
  };
  expect_same(net, {1, 15, 4}, 1);
  const Program program = capture(net, {1, 15, 4});
  EXPECT_THAT(stores(program), ElementsAre("f32 15x4", "f32 8x18", "f32 8x5"));
  EXPECT_EQ(program.steps()[1].note, "of 15 steps; the others are unused");
}

}  // namespace
}  // namespace octet::programs
