#include <limits>
#include <map>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/quantize_model.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

const QuantizeOptions kForTflite{.policy = Policy::tflite};

// "layer site rule" of each point.
std::vector<std::string> tflite_points(const Model& model) {
  std::vector<std::string> result;
  for (const QdqPoint& point : place(model, kForTflite).plan.points) {
    result.push_back(point.layer + " " + to_string(point.site) + " " +
                     point.rule);
  }
  return result;
}

// The group of each "layer site".
std::map<std::string, std::string> tflite_groups(const Model& model) {
  std::map<std::string, std::string> result;
  for (const QdqPoint& point : place(model, kForTflite).plan.points) {
    result[point.layer + " " + to_string(point.site)] = point.group;
  }
  return result;
}

TEST(TflitePolicy, QuantizesOutputsOfFusedOperators) {
  const SymbolicTensor x = input({8, 6, 3}, "x");
  SymbolicTensor y = Conv2D({.filters = 4, .name = "conv"})(x);
  y = BatchNormalization({.name = "norm"})(y);
  y = Dropout({.rate = 0.1f, .name = "drop"})(y);
  y = ReLU({.name = "relu"})(y);
  y = MaxPooling2D({.name = "pool"})(y);
  y = Dense({.units = 2, .name = "head"})(Flatten({.name = "flat"})(y));
  const Model model(x, y);
  EXPECT_THAT(
      tflite_points(model),
      ElementsAre("conv input 0 T06", "conv kernel T02", "relu output T01",
                  "head kernel T02", "head output T01"));
}

TEST(TflitePolicy, DenseWeightsHaveOneScaleOnRequest) {
  const SymbolicTensor x = input({8, 6, 3}, "x");
  const SymbolicTensor y = Conv2D({.filters = 4, .name = "conv"})(x);
  const Model model(x, Dense({.units = 2, .name = "head"})(Flatten()(y)));
  for (const bool per_channel : {false, true}) {
    const Placement placement =
        place(model, {.policy = Policy::tflite,
                      .tflite = {.per_channel_dense = per_channel}});
    for (const QdqPoint& point : placement.plan.points) {
      if (point.site.kind != SiteKind::weight) continue;
      EXPECT_EQ(point.config.per_channel, per_channel || point.layer == "conv");
    }
  }
}

TEST(TflitePolicy, LearnedZeroPointsAreThoseOfFreeScales) {
  const SymbolicTensor x = input({6}, "x");
  const Model model(x, Softmax()(Dense({.units = 4, .name = "head"})(x)));
  for (const int bits : {8, 16}) {
    const Placement placement = place(
        model,
        {.policy = Policy::tflite,
         .activation = {.bits = bits, .rule = ScaleRule::learned_affine}});
    for (const QdqPoint& point : placement.plan.points) {
      if (point.site.kind == SiteKind::weight) continue;
      EXPECT_EQ(point.config.rule, point.config.constant_scale > 0
                                       ? ScaleRule::fixed
                                   : bits == 8 ? ScaleRule::learned_affine
                                               : ScaleRule::learned);
    }
  }
}

TEST(TflitePolicy, ActivationsOf16BitsAreSymmetric) {
  const SymbolicTensor x = input({6}, "x");
  const Model model(x, Softmax()(Dense({.units = 4, .name = "head"})(x)));
  for (const QdqPoint& point :
       place(model, {.policy = Policy::tflite, .activation = {.bits = 16}})
           .plan.points) {
    if (point.site.kind == SiteKind::weight) {
      EXPECT_EQ(range_text(point.config), "int8 [-127,127]");
      continue;
    }
    EXPECT_EQ(range_text(point.config), "int16 [-32768,32767]") << point.layer;
    EXPECT_FALSE(point.config.asymmetric);
    EXPECT_EQ(point.config.constant_scale,
              point.layer == "softmax" ? 1.0f / 32768 : 0.0f);
  }
}

TEST(TflitePolicy, KeepsTensorsWithSeveralConsumers) {
  const SymbolicTensor x = input({8, 6, 3}, "x");
  const SymbolicTensor y = Conv2D({.filters = 3, .name = "conv"})(x);
  const Model model(x, Add({.name = "add"})({y, ReLU({.name = "relu"})(y)}));
  EXPECT_THAT(
      tflite_points(model),
      ElementsAre("conv input 0 T06", "conv kernel T02", "conv output T01",
                  "relu output T01", "add output T01"));
}

TEST(TflitePolicy, SharesScalesAroundConcatenateAndPools) {
  const SymbolicTensor x = input({8, 6, 3}, "x");
  const SymbolicTensor a = Conv2D({.filters = 2, .name = "a"})(x);
  SymbolicTensor b = Conv2D({.filters = 4, .name = "b"})(x);
  b = AveragePooling2D(
      {.pool_size = 3, .strides = 1, .padding = "same", .name = "pool"})(b);
  const Model model(x, Concatenate({.name = "join"})({a, b}));
  auto groups = tflite_groups(model);
  EXPECT_EQ(groups["a output"], groups["b output"]);
  EXPECT_EQ(groups["a output"], groups["pool output"]);
  EXPECT_NE(groups["a output"], groups["a input 0"]);
  Model quantized = quantize_model(model, kForTflite);
  calibrate(quantized,
            [](const Model& m) {
              Tensor images({2, 8, 6, 3});
              Rng(1).fill_normal(images, 0, 1);
              (void)m(Variable(images));
            },
            {.method = Calibration::max});
  // The input, and the tensors around Concatenate.
  EXPECT_EQ(activation_quantizers(quantized).size(), 5u);
  EXPECT_EQ(quantizers(quantized).size(), 4u);
}

TEST(TflitePolicy, FixesScalesOfFunctions) {
  const SymbolicTensor x = input({5}, "x");
  const SymbolicTensor p = Softmax({.name = "p"})(x);
  const SymbolicTensor t = Activation({.activation = "tanh", .name = "t"})(x);
  const Model model(x, Concatenate({.name = "join"})({p, t, x}));
  std::map<std::string, QuantizerConfig> configs;
  for (const QdqPoint& point : place(model, kForTflite).plan.points) {
    configs[point.layer + " " + to_string(point.site)] = point.config;
  }
  EXPECT_EQ(configs["p output"].constant_scale, 1.0f / 256);
  EXPECT_FALSE(configs["p output"].is_signed);
  EXPECT_EQ(configs["t output"].constant_scale, 1.0f / 128);
  EXPECT_TRUE(configs["t output"].is_signed);
  // Concatenate converts them to its own scale.
  EXPECT_TRUE(configs["join input 0"].asymmetric);
  EXPECT_TRUE(configs["join input 1"].asymmetric);
  EXPECT_EQ(configs["join input 0"], configs["join input 2"]);
}

// The group of the converted input had the name of the sigmoid's group.
TEST(TflitePolicy, ConvertsTheFirstInputOfConcatenate) {
  const SymbolicTensor x = input({5}, "x");
  const SymbolicTensor a =
      Dense({.units = 3, .activation = "sigmoid", .name = "a"})(x);
  const SymbolicTensor b = Dense({.units = 3, .name = "b"})(x);
  for (const int bits : {8, 16}) {
    QuantizeOptions options = kForTflite;
    options.activation.bits = bits;
    for (const SymbolicTensor& y : {Concatenate({.name = "join"})({a, b}),
                                    Maximum({.name = "join"})({a, b})}) {
      const Model quantized = quantize_model(tflite_form(Model(x, y)), options);
      std::map<const Quantizer*, QuantizerConfig> configs;
      for (const auto& quantizer : quantizers(quantized)) {
        configs[quantizer.get()] = quantizer->config();
      }
      // The input, two kernels, the sigmoid's input and output, and those
      // around Concatenate.
      EXPECT_EQ(configs.size(), 6u);
    }
  }
}

// The fill was less than the lowest quantized value of ReLU's range.
TEST(TflitePolicy, RangesOfPaddingContainItsValue) {
  const SymbolicTensor x = input({4, 3}, "x");
  const auto padded = [&](float value, const std::string& mode) {
    return Model(x, Pad({.begin = {1, 0},
                         .end = {0, 0},
                         .mode = mode,
                         .value = value,
                         .name = "pad"})(ReLU({.name = "relu"})(x)));
  };
  EXPECT_THAT(
      tflite_points(padded(-2, "constant")),
      ElementsAre("relu input 0 T06", "relu output T01", "pad output T04"));
  const auto groups = tflite_groups(padded(-2, "constant"));
  EXPECT_EQ(groups.at("relu output"), groups.at("pad output"));
  for (const Model& model :
       {padded(0, "constant"), padded(-2, "edge"),
        padded(std::numeric_limits<float>::lowest(), "constant")}) {
    EXPECT_THAT(tflite_points(model),
                ElementsAre("relu input 0 T06", "relu output T01"));
  }
}

TEST(TflitePolicy, NamesLayersWithoutIntegerOperators) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(x, Activation({.activation = "gelu", .name = "gelu"})(
                           Dense({.units = 3, .name = "dense"})(x)));
  const Placement placement = place(model, kForTflite);
  ASSERT_EQ(placement.notes.size(), 1u);
  EXPECT_EQ(placement.notes[0].layer, "gelu");
  EXPECT_EQ(placement.notes[0].rule, "T07");
}

TEST(TflitePolicy, KeepsTheUsersDecisions) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(
      x, Dense({.units = 2, .name = "b"})(Dense({.units = 3, .name = "a"})(x)));
  QuantizeOptions options = kForTflite;
  options.spec.add("b", {.quantize_input = false, .quantize_weight = false});
  const QdqPlan plan = place(model, options).plan;
  for (const QdqPoint& point : plan.points) EXPECT_EQ(point.layer, "a");
  EXPECT_EQ(plan.points.size(), 3u);
}

// Quantized indices were no whole numbers.
TEST(TflitePolicy, KeepsIndices) {
  const SymbolicTensor x = input({5}, "x");
  const SymbolicTensor y = Flatten()(
      Embedding({.input_dim = 300, .output_dim = 2, .name = "words"})(x));
  const Model model(x, Dense({.units = 3, .name = "a"})(y));
  for (const QdqPoint& point : place(model, kForTflite).plan.points) {
    EXPECT_NE(point.layer, "words");
  }
}

TEST(TflitePolicy, GroupsOnlyTensorsThatLayersConnect) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(
      x, Dense({.units = 2, .name = "b"})(Dense({.units = 3, .name = "a"})(x)));
  QdqPlan plan = place(model, kForTflite).plan;
  for (QdqPoint& point : plan.points) {
    if (point.site.kind != SiteKind::weight) point.group = "all";
  }
  EXPECT_EQ(failure_of<ValueError>([&] { (void)apply(plan, model); }),
            (Failure{"invalid_value", "plan group 'all'"}));
}

TEST(TflitePolicy, PlansAreSavedWhole) {
  const SymbolicTensor x = input({5}, "x");
  const Model model(
      x, Softmax({.name = "p"})(Dense({.units = 3, .name = "a"})(x)));
  const QdqPlan plan = place(model, kForTflite).plan;
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
}

TEST(TfliteForm, SeparatesActivations) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 4, .activation = "silu", .name = "conv"})(x);
  y = Conv2D({.filters = 4, .activation = "relu", .name = "clipped"})(y);
  y = Add({.name = "sum"})({y, y, y});
  y = GlobalAveragePooling2D()(y);
  const Model model(
      x, Dense({.units = 3, .activation = "softmax", .name = "head"})(y));
  const Model form = tflite_form(model);
  std::vector<std::string> names;
  for (const auto& layer : form.layers()) names.push_back(layer->name());
  EXPECT_THAT(names, ElementsAre("x", "conv", "conv_activation_sigmoid",
                                 "conv_activation", "clipped", "sum_1", "sum",
                                 "global_average_pooling2d", "head",
                                 "head_activation"));
  Tensor images({2, 6, 5, 3});
  Rng(1).fill_normal(images, 0, 1);
  const auto expected = values(model.predict(images));
  const auto got = values(form.predict(images));
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-6f);
  }
  // A second conversion changes nothing.
  EXPECT_EQ(tflite_form(form).layers().size(), form.layers().size());
}

}  // namespace
}  // namespace octet::quant
