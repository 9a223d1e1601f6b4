// Networks over sequences: quantized by the rules of their 2-D forms, run in
// INT8 and trained with quantization.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "sequence_network.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Model network(bool sequences) {
  Model model = sequence_network(sequences);
  shake(model);
  return model;
}

std::string as_2d(std::string text) {
  for (size_t at = text.find("1D"); at != std::string::npos;
       at = text.find("1D")) {
    text[at] = '2';
  }
  return text;
}

std::string plan_text(bool sequences, const QuantizeOptions& options) {
  return as_2d(place(network(sequences), options).plan.to_string());
}

TEST(Sequences, AreQuantizedAsTheirCounterparts) {
  for (const Policy policy : {Policy::tensorrt, Policy::toolkit}) {
    const std::string plan = plan_text(true, {.policy = policy});
    EXPECT_EQ(plan, plan_text(false, {.policy = policy}));
    EXPECT_THAT(plan, HasSubstr("depthwise"));
  }
  // Notes on skipped layers, too.
  const auto notes = [](bool sequences) {
    std::string text;
    for (const PlacementNote& note : place(network(sequences)).notes) {
      text += note.layer + ": " + note.text + "\n";
    }
    return as_2d(text);
  };
  EXPECT_EQ(notes(true), notes(false));
}

// The toolkit has no wrappers for them.
TEST(Sequences, StayFloatUnderStrictToolkitRules) {
  const QuantizeOptions strict{.policy = Policy::toolkit,
                               .toolkit = {.strict = true}};
  for (const QdqPoint& point : place(network(true), strict).plan.points) {
    EXPECT_THAT(point.layer, testing::AnyOf("gate", "scores"));
  }
}

TEST(Sequences, MatchThePatternsOfTheirCounterparts) {
  const auto matches = [](bool sequences) {
    std::string text;
    for (const PatternMatch& match : transform(network(sequences)).matches) {
      text += match.pattern + ":";
      for (const std::string& layer : match.layers) text += " " + layer;
      text += "\n";
    }
    return text;
  };
  EXPECT_EQ(matches(true), matches(false));
  EXPECT_THAT(lines_of(matches(true)),
              Contains("ConvBNReLU: pad stem stem_bn stem_relu"));
}

TEST(Sequences, OfOneStepConvertLikeImagesOfOnePixel) {
  const SymbolicTensor x = input({1, 6}, "x");
  SymbolicTensor y = GlobalAveragePooling1D({.keepdims = true})(x);
  y = Flatten()(AveragePooling1D({.pool_size = 1})(y));
  const Model model(x, Dense({.units = 4, .name = "scores"})(y));
  const TransformResult result = transform(model);
  EXPECT_EQ(result.model.layer("scores").class_name(), "Conv1D");
  const Tensor data = noise({3, 1, 6});
  EXPECT_EQ(bits(result.model.predict(data)), bits(model.predict(data)));
}

Model calibrated(const Model& model, const Tensor& x) {
  Model result = quantize_model(model);
  (void)calibrate(result, [&](const Model& m) { (void)m.predict(x); });
  return result;
}

TEST(Sequences, MatchTheModelInASessionBitForBit) {
  const Tensor x = noise({5, 24, 3});
  const Model float_model = network(true);
  for (const bool int8 : {false, true}) {
    SCOPED_TRACE(int8 ? "int8" : "float");
    const Model model = int8 ? calibrated(float_model, x) : float_model.clone();
    const InferenceSession session(model);
    const NoGradGuard no_grad;
    const Tensor expected = model(Variable(x)).value();
    EXPECT_EQ(bits(session.run(x)), bits(expected));
    EXPECT_EQ(bits(session.run(x.slice(4, 1))), bits(expected.slice(4, 1)));
    EXPECT_EQ(bits(model.predict(x)), bits(expected));
  }
}

/// Operation and operands of each step: "conv2d int -> int + f".
std::vector<std::string> steps_of(bool sequences, bool int8) {
  const Tensor x =
      sequences ? noise({2, 24, 3}) : noise({2, 24, 3}).reshaped({2, 1, 24, 3});
  const Model model =
      int8 ? calibrated(network(sequences), x) : network(sequences);
  std::vector<std::string> result;
  for (const ProgramStep& step : InferenceSession(model).steps()) {
    const auto forms = [](std::string text) {  // without the sizes
      std::erase_if(text,
                    [](char c) { return c == 'x' || (c >= '0' && c <= '9'); });
      return text;
    };
    std::string op = step.op;
    if (const size_t at = op.find("1d"); at != std::string::npos) op[at] = '2';
    result.push_back(op + " " + forms(step.reads) + "->" + forms(step.stores));
  }
  return result;
}

TEST(Sequences, AreFusedAsTheirCounterparts) {
  for (const bool int8 : {false, true}) {
    const std::vector<std::string> steps = steps_of(true, int8);
    EXPECT_EQ(steps, steps_of(false, int8));
    EXPECT_THAT(steps, testing::Contains(HasSubstr("conv2d")).Times(6));
  }
}

// fold_batch_norm_test.cpp compares folding with that of images.
TEST(Sequences, TrainWithQuantization) {
  const Tensor x = noise({6, 24, 3});
  Model model = calibrated(network(true), x);
  prepare_qat(model);
  const std::vector<int64_t> labels{0, 1, 2, 0, 1, 2};
  float first = 0, last = 0;
  for (int step = 0; step < 30; ++step) {
    const Variable loss = softmax_cross_entropy(
        model(Variable(x), Mode::training),
        Tensor::of<int64_t>({6}, std::span<const int64_t>(labels)));
    last = loss.value().item();
    if (step == 0) first = last;
    loss.backward();
    for (const Variable& v : model.trainable_variables()) {
      if (v.grad().empty()) continue;
      const auto g = v.grad().f32();
      const auto to = v.mutable_value();
      for (size_t i = 0; i < to.size(); ++i) to[i] -= 0.02f * g[i];
      v.zero_grad();
    }
  }
  EXPECT_LT(last, 0.5f * first);
}

}  // namespace
}  // namespace octet::quant
