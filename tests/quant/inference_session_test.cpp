// Sessions against the models they were made of, float and quantized.
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;

// Weights and statistics of no particular shape.
void shake(Model& model) {
  uint64_t seed = 3;
  for (const Parameter& p : model.parameters()) {
    Rng rng(++seed);
    if (p.variable.shape().rank() > 1) continue;
    for (float& v : p.variable.mutable_value()) v += 0.3f * rng.uniform();
  }
}

Model quantized(const Model& model, const Tensor& x) {
  Model result = quant::quantize_model(model);
  (void)quant::calibrate(result, [&](const Model& m) { (void)m.predict(x); });
  return result;
}

Tensor forward(const Model& model, const Tensor& x) {
  const NoGradGuard no_grad;
  return model(Variable(x)).value();
}

class SessionOf : public testing::TestWithParam<std::string> {};

TEST_P(SessionOf, NetworkHasTheBitsOfTheModel) {
  const zoo::Entry& entry = zoo::entry(GetParam());
  Shape sample = entry.input;
  if (sample[0] > 128) sample = {96, 80, 3};
  if (entry.name == "inception_v3") sample = {96, 91, 3};
  if (entry.name == "vit_tiny") sample = entry.input;
  Model model = zoo::make(entry.name, {.input = sample});
  shake(model);
  const Tensor x = noise(model.inputs()[0].shape().with(0, 3));
  for (const bool int8 : {false, true}) {
    SCOPED_TRACE(int8 ? "int8" : "float");
    const Model net = int8 ? quantized(model, x) : model.clone();
    const Tensor expected = forward(net, x);
    const InferenceSession session(net);
    EXPECT_EQ(bits(session.run(x)), bits(expected));
    const Tensor one = x.slice(2, 1);
    EXPECT_EQ(bits(session.run(one)), bits(expected.slice(2, 1)));
  }
}

std::vector<std::string> networks() {
  std::vector<std::string> names;
  for (const zoo::Entry& entry : zoo::entries()) {
    // Like resnet50, but for its depth.
    if (entry.name == "resnet101" || entry.name == "resnet101_v2") continue;
    names.emplace_back(entry.name);
  }
  return names;
}

INSTANTIATE_TEST_SUITE_P(Zoo, SessionOf, testing::ValuesIn(networks()),
                         [](const auto& name_of) { return name_of.param; });

TEST(InferenceSession, FusesAllOfAResidualNetworkButItsHead) {
  const Tensor x = noise({2, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x);
  int convolutions = 0;
  for (const ProgramStep& step : InferenceSession(net).steps()) {
    if (step.op == "conv2d") {
      ++convolutions;
      EXPECT_THAT(step.reads, testing::StartsWith("int8"));
    }
  }
  EXPECT_EQ(convolutions, 9);
}

// A layer that is called, and one that is fused.
TEST(InferenceSession, IsOfTheModelAsItWas) {
  const SymbolicTensor x = input({4});
  SymbolicTensor y = Dense({.units = 8})(x);
  y = LayerNormalization()(y);
  Model model(x, Dense({.units = 3})(y));
  const Tensor data = noise({5, 4});
  const InferenceSession session(model);
  const auto before = bits(session.run(data));
  EXPECT_EQ(before, bits(forward(model, data)));
  shake(model);
  for (const Parameter& p : model.parameters()) {
    for (float& v : p.variable.mutable_value()) v += 1;
  }
  EXPECT_EQ(bits(session.run(data)), before);
  EXPECT_NE(bits(forward(model, data)), before);
}

TEST(InferenceSession, OutlivesTheModel) {
  const InferenceSession session(zoo::lenet());
  EXPECT_EQ(session.run(noise({2, 28, 28, 1})).shape(), (Shape{2, 10}));
}

TEST(InferenceSession, TakesSeveralInputsAndOutputs) {
  const SymbolicTensor a = input({6, 5, 3}, "a");
  const SymbolicTensor b = input({6, 5, 3}, "b");
  const LayerHandle shared =
      Conv2D({.filters = 7, .padding = Padding::same, .activation = "relu"});
  const SymbolicTensor p = shared(a);
  const SymbolicTensor q = shared(b);
  const SymbolicTensor sum = Add()({p, q});
  Model model({a, b}, {sum, p, sum, a});
  const std::vector<Tensor> x{noise({3, 6, 5, 3}, 1), noise({3, 6, 5, 3}, 2)};
  const std::vector<Tensor> y = InferenceSession(model).run(x);
  const NoGradGuard no_grad;
  const std::vector<Variable> in{Variable(x[0]), Variable(x[1])};
  const std::vector<Variable> expected = model(in);
  ASSERT_EQ(y.size(), expected.size());
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(bits(y[i]), bits(expected[i])) << i;
  }
}

TEST(InferenceSession, IsTheSameForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  const Tensor x = noise({37, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x.slice(0, 4));
  const InferenceSession session(net);
  set_num_threads(1);
  const auto expected = bits(session.run(x));
  for (const int threads : {2, 3, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(bits(session.run(x)), expected);
    EXPECT_EQ(bits(session.run(x.slice(36, 1))),
              std::vector<uint32_t>(expected.end() - 10, expected.end()));
  }
  EXPECT_EQ(bits(net.predict(x)), expected);
}

TEST(InferenceSession, SaysWhatDoesNotFit) {
  const InferenceSession session(zoo::lenet());
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)session.run(noise({2, 1, 28, 28}));
              }),
              AllOf(HasSubstr("[2,1,28,28]"), HasSubstr("[N,28,28,1]")));
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)session.run(noise({28, 28, 1}));
              }),
              HasSubstr("[28,28,1]"));
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)session.run(Tensor({0, 28, 28, 1}));
              }),
              HasSubstr("[0,28,28,1]"));
  EXPECT_THAT(error_of<ValueError>([&] { (void)session.run(Tensor()); }),
              HasSubstr("got none"));
  EXPECT_THAT(error_of<ValueError>([&] {
                (void)session.run(Tensor({1, 28, 28, 1}, DType::u8));
              }),
              HasSubstr("u8"));
  const std::vector<Tensor> two(2, noise({1, 28, 28, 1}));
  EXPECT_THAT(error_of<ValueError>([&] { (void)session.run(two); }),
              HasSubstr("expected 1 inputs, got 2"));
}

TEST(InferenceSession, RefusesNaNWhereThereIsNoCodeForIt) {
  Tensor x = noise({2, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x);
  const InferenceSession session(net);
  x.f32()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_of<ValueError>([&] { (void)session.run(x); }),
              HasSubstr("NaN"));
}

// predict() goes on as the model does.
TEST(InferenceSession, PredictCarriesNaNOn) {
  Tensor x = noise({32, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x);
  x.f32()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bits(net.predict(x)), bits(forward(net, x)));
}

TEST(InferenceSession, RefusesAModelThatIsBeingCalibrated) {
  const Tensor x = noise({2, 28, 28, 1});
  Model model = quant::quantize_model(zoo::lenet());
  std::string message;
  (void)quant::calibrate(model, [&](const Model& m) {
    (void)m.predict(x);
    message = error_of<ValueError>([&] { (void)InferenceSession(m); });
  });
  EXPECT_THAT(message, HasSubstr("calibrated"));
}

}  // namespace
}  // namespace octet
