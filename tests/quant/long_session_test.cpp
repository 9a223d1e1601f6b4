// Sessions and quantized models of wide, deep and residual graphs. Each takes
// well under a second; cubic time in the nodes, or exponential time in the
// blocks, would exceed the test's time limit.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>

#include "support.h"

namespace octet::quant {
namespace {

void expect_bits_of_session(const Model& model) {
  const InferenceSession session(model);
  const Tensor x = noise(model.inputs()[0].shape().with(0, 1), 9);
  const NoGradGuard no_grad;
  EXPECT_EQ(bits(session.run(x)), bits(model(Variable(x)).value()));
}

TEST(LongSession, SupportsALadderOfResiduals) {
  const SymbolicTensor x = input({2, 2, 3}, "x");
  SymbolicTensor y = x;
  for (int i = 0; i < 2000; ++i) y = Add()({ReLU({.max_value = 6})(y), y});
  expect_bits_of_session(Model(x, ReLU({.max_value = 1})(y)));
}

TEST(LongSession, FollowsResidualsOfConvolutions) {
  const SymbolicTensor x = input({2, 2, 3}, "x");
  SymbolicTensor y = x;
  for (int i = 0; i < 500; ++i) {
    y = Add()(
        {ReLU({.max_value = 1})(Conv2D({.filters = 3, .kernel_size = 1})(y)),
         y});
    y = ReLU({.max_value = 1})(y);
  }
  const Model model(x, y);
  expect_bits_of_session(model);
  const Model quantized = quantize_model(model);
  EXPECT_GT(plan_of(quantized).points.size(), 1000u);
}

Model wide_sum(int branches) {
  const SymbolicTensor x = input({2, 2, 2}, "x");
  std::vector<SymbolicTensor> parts;
  for (int i = 0; i < branches; ++i) {
    parts.push_back(Conv2D({.filters = 1, .kernel_size = 1})(x));
  }
  return Model(x, Add()(parts));
}

TEST(LongSession, AddsUpManyBranches) {
  const Model model = wide_sum(1500);
  expect_bits_of_session(model);
  const Model quantized = quantize_model(model);
  EXPECT_GE(plan_of(quantized).points.size(), 3000u);
}

TEST(LongSession, JoinsManyBranches) {
  const SymbolicTensor x = input({2, 2, 2}, "x");
  std::vector<SymbolicTensor> parts;
  for (int i = 0; i < 1500; ++i) {
    parts.push_back(Conv2D({.filters = 1, .kernel_size = 1})(x));
  }
  const Model model(x, Concatenate()(parts));
  expect_bits_of_session(model);
  // The text of a step does not grow with the number of inputs.
  for (const ProgramStep& step : InferenceSession(model).steps()) {
    EXPECT_LT(step.reads.size(), 200u);
  }
}

}  // namespace
}  // namespace octet::quant
