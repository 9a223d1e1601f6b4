// Sessions compared with their models, float and quantized.
#include <cmath>
#include <functional>
#include <limits>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/ops.h>

#include "../support.h"
#include "small_networks.h"

namespace octet {
namespace {

// Sets weights and statistics to arbitrary values.
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

TEST_P(SessionOf, NetworkMatchesTheModelBitForBit) {
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

INSTANTIATE_TEST_SUITE_P(Zoo, SessionOf, testing::ValuesIn(small_networks()),
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

// Fused layers and a called layer.
TEST(InferenceSession, IsASnapshotOfTheModel) {
  const SymbolicTensor x = input({5, 4, 3});
  SymbolicTensor y = Conv2D({.filters = 8})(x);
  y = BatchNormalization()(DepthwiseConv2D({.padding = Padding::same})(y));
  y = LayerNormalization()(y);
  Model model(x, Dense({.units = 3})(Flatten()(y)));
  shake(model);
  const Tensor data = noise({5, 5, 4, 3});
  for (const bool int8 : {false, true}) {
    SCOPED_TRACE(int8 ? "int8" : "float");
    Model net = int8 ? quantized(model, data) : model.clone();
    const InferenceSession session(net);
    const auto before = bits(session.run(data));
    EXPECT_EQ(before, bits(forward(net, data)));
    for (const Parameter& p : net.parameters()) {
      Tensor values = p.variable.value().clone();
      for (float& v : values.f32()) v += 0.5f;
      p.variable.assign(values);
    }
    EXPECT_EQ(bits(session.run(data)), before);
    EXPECT_NE(bits(forward(net, data)), before);
  }
}

// A custom layer without a separate class.
using Body = std::function<Variable(const Variable&)>;
class BodyLayer final : public Layer {
 public:
  BodyLayer(Body body, Shape shape) : body_(std::move(body)), shape_(shape) {}
  std::string class_name() const override { return "TestBody"; }
  Config config() const override { return Config::Object(); }
  Shape output_shape(std::span<const Shape> inputs) const override {
    return shape_.rank() == 0 ? inputs[0] : shape_;
  }
  Variable forward(const ForwardContext&,
                   std::span<const Variable> inputs) const override {
    return body_(inputs[0]);
  }
  std::shared_ptr<Layer> clone(CloneContext&) const override {
    auto copy = std::make_shared<BodyLayer>(body_, shape_);
    copy->set_name(name());
    return copy;
  }

 private:
  Body body_;
  Shape shape_;
};

SymbolicTensor body(const SymbolicTensor& x, Body f, Shape shape = {}) {
  return LayerHandle(std::make_shared<BodyLayer>(std::move(f), shape))(x);
}

void expect_bits_of_the_model(const SymbolicTensor& x,
                              const SymbolicTensor& y) {
  Model model(x, y);
  shake(model);
  const Tensor data = noise(x.shape().with(0, 19));
  const auto expected = bits(forward(model, data));
  EXPECT_EQ(bits(InferenceSession(model).run(data)), expected);
  EXPECT_EQ(bits(model.predict(data)), expected);
}

// Pending operations of a call are fused with later ones, as in the model.
TEST(InferenceSession, ContinuesAnExpressionAfterACall) {
  const SymbolicTensor x = input({6, 5, 4});
  const auto norm = [](const SymbolicTensor& y) {
    return BatchNormalization()(y);
  };
  expect_bits_of_the_model(x, norm(Conv2DTranspose({.filters = 7})(x)));
  expect_bits_of_the_model(x,
                           norm(DepthwiseConv2D({.depth_multiplier = 2})(x)));
  expect_bits_of_the_model(
      x, norm(SeparableConv2D({.filters = 5, .depth_multiplier = 2})(x)));
  expect_bits_of_the_model(
      x, norm(Conv2D({.filters = 8, .kernel_size = 3, .groups = 4})(x)));
  // And before it.
  const SymbolicTensor conv = Conv2D({.filters = 6})(x);
  expect_bits_of_the_model(
      x, body(conv, [](const Variable& v) {
        const Shape c{6};
        return softmax(batch_norm(v, Variable(noise(c, 3)),
                                  Variable(noise(c, 4)), noise(c, 5),
                                  Tensor::full(c, 0.7f), 1e-3f));
      }));
}

TEST(InferenceSession, DoesNotReusePaddingForOtherTensors) {
  const SymbolicTensor x = input({8, 8, 3});
  const Variable w(noise({3, 3, 3, 3}, 9));
  // Within a call, and of another shape.
  expect_bits_of_the_model(
      x, Conv2D({.filters = 4})(body(x,
                                     [w](const Variable& v) {
                                       return pad2d(conv2d(v, w, {.pads = 1}),
                                                    Pads(1));
                                     },
                                     {Shape::kAnySize, 10, 10, 3})));
  expect_bits_of_the_model(x, Conv2D({.filters = 4})(body(
                                  x,
                                  [](const Variable& v) {
                                    const Variable y = pad2d(v, Pads(1));
                                    return reshape(y, {y.shape()[0], 5, 20, 3});
                                  },
                                  {Shape::kAnySize, 5, 20, 3})));
}

TEST(InferenceSession, StoresSeveralFormatsOfAValue) {
  for (const int count : {5, 8, 9}) {
    const SymbolicTensor x = input({4, 5, 3});
    const SymbolicTensor y = Conv2D({.filters = 8, .use_bias = false})(x);
    std::vector<SymbolicTensor> outputs;
    for (int i = 1; i <= count; ++i) {
      outputs.push_back(body(y, [i](const Variable& v) {
        return fake_quantize(
            v, {.scale = Tensor::scalar(0.01f * static_cast<float>(i))});
      }));
    }
    Model model({x}, outputs);
    const std::vector<Tensor> data{noise({17, 4, 5, 3})};
    const NoGradGuard no_grad;
    const std::vector<Variable> in{Variable(data[0])};
    const std::vector<Variable> expected = model(in);
    const std::vector<Tensor> predicted = model.predict(data);
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(bits(predicted[i]), bits(expected[i]));
    }
    if (count > 8) {
      EXPECT_THROW((void)InferenceSession(model), UnsupportedError);
    } else {
      const std::vector<Tensor> got = InferenceSession(model).run(data);
      for (size_t i = 0; i < expected.size(); ++i) {
        EXPECT_EQ(bits(got[i]), bits(expected[i]));
      }
    }
  }
}

// Quantized before padding, as in MobileNetV2: no call is left.
TEST(InferenceSession, StoresZerosAroundQuantizedImages) {
  const SymbolicTensor x = input({8, 7, 3});
  SymbolicTensor y = ReLU()(Conv2D({.filters = 6, .kernel_size = 1})(x));
  y = ZeroPadding2D({.padding = {{0, 1}, {0, 1}}})(y);
  y = DepthwiseConv2D({.kernel_size = 3, .strides = 2})(y);
  Model model(x, y);
  shake(model);
  const Tensor data = noise({5, 8, 7, 3});
  const Model net = quantized(model, data);
  const InferenceSession session(net);
  EXPECT_EQ(bits(session.run(data)), bits(forward(net, data)));
  for (const ProgramStep& step : session.steps()) EXPECT_NE(step.op, "call");
}

TEST(InferenceSession, SupportsUnsignedValues) {
  const SymbolicTensor x = input({8, 7, 3});
  SymbolicTensor y = ReLU()(Conv2D({.filters = 17, .kernel_size = 3})(x));
  y = ReLU()(DepthwiseConv2D({.kernel_size = 3})(y));
  y = Add()({y, ReLU()(Conv2D({.filters = 17, .kernel_size = 1})(y))});
  const Model net(x, Dense({.units = 3})(GlobalAveragePooling2D()(y)));
  const Tensor data = noise({5, 8, 7, 3});
  const quant::PatternPlacement placed = quant::place_by_patterns(
      net, quant::onnxruntime_patterns(), {.activation = {.is_signed = false}});
  Model model = quant::apply(placed.placement.plan, placed.model);
  quant::calibrate(model, Dataset(data, Tensor::zeros({5}, DType::i64)));
  EXPECT_EQ(bits(InferenceSession(model).run(data)),
            bits(forward(model, data)));
}

// Padded values are quantized again with equal parameters.
TEST(InferenceSession, SupportsQdqOnBothSidesOfPadding) {
  const SymbolicTensor x = input({6, 9, 3}, "image");
  const SymbolicTensor y = ZeroPadding2D({.padding = 1, .name = "pad"})(x);
  const Model net(x, Conv2D({.filters = 5, .name = "conv"})(y));
  quant::QdqPlan plan = quant::place(net).plan;
  quant::QdqPoint at_conv = plan.points[0];
  for (const quant::QdqPoint& point : plan.points) {
    if (point.site.kind == quant::SiteKind::input) at_conv = point;
  }
  ASSERT_EQ(at_conv.layer, "pad");
  at_conv.layer = "conv";
  at_conv.group = "padded";
  plan.points.push_back(at_conv);
  Model model = quant::apply(plan, net);
  for (const auto& each : quant::quantizers(model)) {
    if (each->config().rule == quant::ScaleRule::fixed) each->set_scale(0.02f);
  }
  const Tensor data = noise({20, 6, 9, 3});
  EXPECT_EQ(bits(InferenceSession(model).run(data)),
            bits(forward(model, data)));
}

// Their results would be constants in the program; predict() falls back to the
// model.
TEST(InferenceSession, RefusesLayersThatInspectValues) {
  const std::vector<Body> bodies{
      [](const Variable& v) {
        float top = 0;
        for (const float e : v.value().f32()) top = std::max(top, std::abs(e));
        return fake_quantize(v, {.scale = Tensor::scalar(1e-6f + top / 127)});
      },
      [](const Variable& v) {
        return fake_quantize(
            v, {.scale =
                    Tensor::scalar(0.01f * static_cast<float>(v.shape()[0]))});
      }};
  for (const Body& look : bodies) {
    const SymbolicTensor x = input({4, 5, 3});
    const Model model(x, Conv2D({.filters = 4})(body(x, look)));
    EXPECT_THROW((void)InferenceSession(model), UnsupportedError);
  }
  const SymbolicTensor x = input({4, 5, 3});
  const Model model(x, Conv2D({.filters = 4})(body(x, [](const Variable& v) {
                      if (v.shape()[0] == 1)
                        throw ValueError("invalid_value", "x", "one sample");
                      return relu(v);
                    })));
  const Tensor data = noise({18, 4, 5, 3});
  EXPECT_EQ(bits(model.predict(data)), bits(forward(model, data)));
}

TEST(InferenceSession, PredictRefusesOtherTypesForAnyBatchSize) {
  const SymbolicTensor x = input({8, 8, 3});
  const Model model(x, Conv2D({.filters = 4})(x));
  for (const int64_t n : {4, 20}) {
    EXPECT_THROW((void)model.predict(Tensor({n, 8, 8, 3}, DType::u8)),
                 ValueError);
  }
}

TEST(InferenceSession, OutlivesTheModel) {
  const InferenceSession session(zoo::lenet());
  EXPECT_EQ(session.run(noise({2, 28, 28, 1})).shape(), (Shape{2, 10}));
}

TEST(InferenceSession, SupportsSeveralInputsAndOutputs) {
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

TEST(InferenceSession, IsIndependentOfTheNumberOfThreads) {
  const ThreadCountGuard restored;
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

TEST(InferenceSession, RefusesInvalidInputs) {
  const InferenceSession session(zoo::lenet());
  for (const Shape& shape :
       {Shape{2, 1, 28, 28}, Shape{28, 28, 1}, Shape{0, 28, 28, 1}}) {
    EXPECT_THROW((void)session.run(Tensor(shape)), ShapeError);
  }
  EXPECT_THROW((void)session.run(Tensor()), ValueError);
  EXPECT_THROW((void)session.run(Tensor({1, 28, 28, 1}, DType::u8)),
               ValueError);
  const std::vector<Tensor> two(2, noise({1, 28, 28, 1}));
  EXPECT_THROW((void)session.run(two), ValueError);
}

TEST(InferenceSession, RefusesNanInQuantizedValues) {
  Tensor x = noise({2, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x);
  const InferenceSession session(net);
  x.f32()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THROW((void)session.run(x), ValueError);
}

// predict() propagates NaN like the model.
TEST(InferenceSession, PredictPropagatesNan) {
  Tensor x = noise({32, 32, 32, 3});
  const Model net = quantized(zoo::resnet8(), x);
  x.f32()[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(bits(net.predict(x)), bits(forward(net, x)));
}

TEST(InferenceSession, RefusesAModelDuringCalibration) {
  const Tensor x = noise({2, 28, 28, 1});
  Model model = quant::quantize_model(zoo::lenet());
  bool called = false;
  (void)quant::calibrate(model, [&](const Model& m) {
    (void)m.predict(x);
    EXPECT_THROW((void)InferenceSession(m), ValueError);
    called = true;
  });
  EXPECT_TRUE(called);
}

}  // namespace
}  // namespace octet
