// Programs that predict() keeps, and Model::compile().
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/system.h>

#include "support.h"

namespace octet {
namespace {

Tensor eager(const Model& model, const Tensor& x) {
  const NoGradGuard no_grad;
  return model(Variable(x)).value();
}

TEST(PredictProgram, FollowsEveryChangeOfTheModel) {
  const Tensor x = noise({20, 32, 32, 3});
  Model net = quant::quantize_model(zoo::resnet8());
  (void)quant::calibrate(net, [&](const Model& m) { (void)m.predict(x); });
  const auto expect_bits = [&] {
    EXPECT_EQ(bits(net.predict(x)), bits(eager(net, x)));
  };
  expect_bits();
  expect_bits();  // the same program
  for (const Parameter& p : net.parameters()) {
    for (float& v : p.variable.mutable_value()) v += 0.01f;
  }
  expect_bits();
  const auto before = bits(net.predict(x));
  for (const auto& quantizer : quant::quantizers(net)) {
    if (quantizer->scale()) quantizer->set_scale(*quantizer->scale() * 1.5f);
  }
  expect_bits();
  EXPECT_NE(bits(net.predict(x)), before);
  for (const auto& quantizer : quant::quantizers(net)) {
    quantizer->set_enabled(false);
  }
  expect_bits();
}

// The quantizers have equal scales and different widths.
TEST(PredictProgram, FollowsAReplacedQuantizer) {
  const Tensor x = noise({20, 8, 6, 1});
  Model net = quant::quantize_model(quickstart());
  (void)quant::calibrate(net, [&](const Model& m) { (void)m.predict(x); });
  const auto before = bits(net.predict(x));
  auto& wrapper =
      dynamic_cast<quant::BaseQuantizeWrapper&>(net.layer("quant_conv2d"));
  const quant::PlacedQuantizer& placed = wrapper.activations()[0];
  quant::QuantizerConfig config = placed.quantizer->config();
  config.bits = 4;
  const auto narrow =
      std::make_shared<quant::Quantizer>(placed.quantizer->name(), config);
  narrow->set_scale(*placed.quantizer->scale());
  wrapper.attach({placed.site, narrow});
  EXPECT_NE(bits(net.predict(x)), before);
  EXPECT_EQ(bits(net.predict(x)), bits(eager(net, x)));
}

TEST(PredictProgram, IsCompiledOnce) {
  const Tensor x = noise({20, 32, 32, 3});
  const Model floats = zoo::resnet8();
  Model net = quant::quantize_model(floats);
  (void)quant::calibrate(net, [&](const Model& m) { (void)m.predict(x); });
  set_diagnostics({.trace = "program"});
  for (const Model* model :
       std::initializer_list<const Model*>{&floats, &net}) {
    testing::internal::CaptureStderr();
    (void)model->predict(x);
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                testing::HasSubstr("program 'trace'"));
    testing::internal::CaptureStderr();
    (void)model->predict(x);
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  }
  set_diagnostics({});
}

// A layer with state that Octet does not know.
class Gain final : public Layer {
 public:
  explicit Gain(std::shared_ptr<float> factor) : factor_(std::move(factor)) {}
  std::string class_name() const override { return "TestGain"; }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> in) const override { return in[0]; }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> in) const override {
    return scale_shift(in[0], *factor_);
  }

 private:
  std::shared_ptr<float> factor_;
};

TEST(PredictProgram, FollowsTheStateOfCustomLayers) {
  const auto factor = std::make_shared<float>(2.0f);
  const SymbolicTensor x = input({4});
  const Model net(x, LayerHandle(std::make_shared<Gain>(factor))(x));
  const Tensor data = noise({20, 4});
  for (const float f : {2.0f, 3.0f}) {
    *factor = f;
    EXPECT_EQ(bits(net.predict(data)), bits(eager(net, data)));
  }
}

TEST(PredictProgram, WarnsOnceOfModelsThatCannotBeCompiled) {
  class Look final : public Layer {
   public:
    std::string class_name() const override { return "TestLook"; }
    Config config() const override { return Config::Object(); }
    Shape output_shape(std::span<const Shape> in) const override {
      return in[0];
    }
    Variable forward(const ForwardContext&,
                     std::span<const Variable> in) const override {
      return in[0].value().f32()[0] > 2 ? in[0] : relu(in[0]);
    }
  };
  const SymbolicTensor x = input({4});
  const Model net(x, LayerHandle(std::make_shared<Look>())(x));
  const Tensor data = noise({20, 4});
  const WarningCapture warnings;
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bits(net.predict(data)), bits(eager(net, data)));
  }
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0], (Failure{"not_compiled", "model 'model'"}));
}

// The program repeats the layer's branch for one sample.
TEST(PredictProgram, IsTriedOncePerStateIfOutputsDiffer) {
  class Count final : public Layer {
   public:
    std::string class_name() const override { return "TestCount"; }
    Config config() const override { return Config::Object(); }
    Shape output_shape(std::span<const Shape> in) const override {
      return in[0];
    }
    std::optional<uint64_t> state_version() const override { return 0; }
    Variable forward(const ForwardContext&,
                     std::span<const Variable> in) const override {
      ++*calls;
      return in[0].shape()[0] == 1 ? scale_shift(in[0], 2.0f) : in[0];
    }
    std::shared_ptr<int> calls = std::make_shared<int>(0);
  };
  const auto layer = std::make_shared<Count>();
  const SymbolicTensor x = input({4});
  const Model net(x, Dense({.units = 4})(LayerHandle(layer)(x)));
  const Tensor data = noise({20, 4});
  const WarningCapture warnings;
  std::vector<int> calls;
  const auto predict = [&] {
    *layer->calls = 0;
    EXPECT_EQ(bits(net.predict(data)), bits(eager(net, data)));
    calls.push_back(*layer->calls);
  };
  predict();
  predict();
  predict();
  EXPECT_GT(calls[0], calls[1]);
  EXPECT_EQ(calls[1], calls[2]);
  for (float& w : net.parameters()[0].variable.mutable_value()) w += 1;
  predict();
  EXPECT_EQ(calls[3], calls[0]);
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0], (Failure{"not_compiled", "model 'model'"}));
}

// Samples with NaN say nothing about the program.
TEST(PredictProgram, IsCompiledAfterSamplesWithNaN) {
  Model net = quant::quantize_model(quickstart());
  Tensor x = noise({20, 8, 6, 1});
  (void)quant::calibrate(net, [&](const Model& m) { (void)m.predict(x); });
  x.f32()[0] = std::numeric_limits<float>::quiet_NaN();
  const WarningCapture warnings;
  (void)net.predict(x);
  x.f32()[0] = 0;
  set_diagnostics({.trace = "program"});
  testing::internal::CaptureStderr();
  EXPECT_EQ(bits(net.predict(x)), bits(eager(net, x)));
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::HasSubstr("program 'trace'"));
  set_diagnostics({});
  EXPECT_THAT(warnings.messages, testing::IsEmpty());
}

TEST(PredictProgram, IsCompiledOnRequest) {
  const Model net = zoo::resnet8();
  const Program program = net.compile({.max_batch = 2});
  EXPECT_THAT(program.to_string(), testing::HasSubstr("conv2d"));
  const std::vector<Tensor> x{noise({2, 32, 32, 3})};
  std::vector<Tensor> y{Tensor({2, 10})};
  ASSERT_TRUE(program.run(x, y));
  EXPECT_EQ(bits(y[0]), bits(eager(net, x[0])));
}

}  // namespace
}  // namespace octet
