// Which normalizations fold, the reasons of the others, and unchanged
// properties of the model. fold_batch_norm_test.cpp tests the numbers.
#include <gtest/gtest.h>

#include "folding.h"

namespace octet::quant {
namespace {

using Names = std::vector<std::string>;

LayerHandle conv(const std::string& name, bool use_bias = true) {
  return Conv2D({.filters = 4,
                 .padding = Padding::same,
                 .use_bias = use_bias,
                 .name = name});
}
LayerHandle bn(const std::string& name) {
  return BatchNormalization({.name = name});
}

SymbolicTensor image() { return input({6, 5, 4}, "image"); }

Model shaken(const SymbolicTensor& x, const SymbolicTensor& y) {
  Model model(x, y, {.name = "net", .seed = 4});
  shake(model);
  return model;
}

/// Returns the folds and expects equal outputs of the folded model.
std::string folds_of(const Model& model) {
  const Tensor x = noise({3, 6, 5, 4});
  const Tensor before = model.predict(std::vector{x})[0];
  const Tensor after = fold_batch_norm(model).predict(std::vector{x})[0];
  // Twice sums of 36 products of this magnitude, rounded differently.
  for (size_t i = 0; i < before.f32().size(); ++i) {
    EXPECT_NEAR(after.f32()[i], before.f32()[i], 1e-4);
  }
  return to_string(batch_norm_folds(model));
}

TEST(BatchNormFolds, AreTheNormalizationsAfterLinearLayers) {
  const SymbolicTensor x = image();
  SymbolicTensor y = ReLU()(bn("a_bn")(conv("a")(x)));
  y = bn("b_bn")(conv("b", false)(y));
  const Model model = shaken(x, bn("c_bn")(ReLU({.name = "relu"})(y)));
  EXPECT_EQ(folds_of(model),
            "a_bn -> a\n"
            "b_bn -> b\n"
            "c_bn stays: its input 'relu' is of class ReLU\n");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(names(folded), (Names{"image", "a", "re_lu", "b", "relu", "c_bn"}));
  EXPECT_EQ(folded.name(), "net");
  EXPECT_TRUE(folded.layer("b").config().at("use_bias").as_bool());
}

TEST(BatchNormFolds, AreEmptyWithoutNormalization) {
  const SymbolicTensor x = image();
  const Model model = shaken(x, conv("a")(x));
  EXPECT_EQ(folds_of(model), "");
  EXPECT_EQ(weight_bits(fold_batch_norm(model)), weight_bits(model));
}

TEST(BatchNormFolds, NeedALayerBeforeThem) {
  const SymbolicTensor x = image();
  EXPECT_EQ(folds_of(shaken(x, bn("b")(x))),
            "b stays: its input 'image' is of class InputLayer\n");
  const SymbolicTensor sum = Add({.name = "sum"})({conv("a")(x), x});
  EXPECT_EQ(folds_of(shaken(x, bn("b")(sum))),
            "b stays: its input 'sum' is of class Add\n");
}

TEST(BatchNormFolds, NeedALayerWithoutAnActivation) {
  const SymbolicTensor x = image();
  const SymbolicTensor y =
      Conv2D({.filters = 4, .activation = "relu", .name = "a"})(x);
  EXPECT_EQ(folds_of(shaken(x, bn("b")(y))),
            "b stays: 'a' has an activation, relu\n");
}

TEST(BatchNormFolds, NeedALayerWithoutOtherConsumers) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = conv("a")(x);
  EXPECT_EQ(folds_of(shaken(x, Add()({bn("b")(y), y}))),
            "b stays: the output of 'a' is used 2 times\n");
  // A model output is a use, too.
  Model model({x}, {bn("b")(y), y});
  EXPECT_EQ(folds_of(model), "b stays: the output of 'a' is used 2 times\n");
  EXPECT_EQ(folds_of(shaken(x, Add()({bn("b")(y), bn("c")(y)}))),
            "b stays: the output of 'a' is used 2 times\n"
            "c stays: the output of 'a' is used 2 times\n");
}

TEST(BatchNormFolds, MayHaveSeveralConsumers) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = bn("b")(conv("a")(x));
  const Model model({x}, {Add({.name = "sum"})({y, ReLU()(y)}), y});
  EXPECT_EQ(folds_of(model), "b -> a\n");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(folded.outputs()[1].node->layer->name(), "a");
  EXPECT_EQ(folded.outputs().size(), 2u);
}

TEST(BatchNormFolds, LookThroughNoOpLayers) {
  const SymbolicTensor x = image();
  SymbolicTensor y = Dropout({.rate = 0, .name = "d"})(conv("a")(x));
  y = SpatialDropout2D({.rate = 0, .name = "s"})(y);
  y = GaussianNoise({.stddev = 0, .name = "g"})(y);
  y = Activation({.activation = "linear", .name = "l"})(y);
  const Model model = shaken(x, bn("b")(y));
  EXPECT_EQ(folds_of(model), "b -> a\n");
  EXPECT_EQ(names(fold_batch_norm(model)),
            (Names{"image", "a", "d", "s", "g", "l"}));
}

TEST(BatchNormFolds, DoNotLookThroughDropout) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = Dropout({.rate = 0.5f, .name = "d"})(conv("a")(x));
  EXPECT_EQ(
      folds_of(shaken(x, bn("b")(y))),
      "b stays: its input 'd' is of class Dropout, which changes values in "
      "training\n");
}

TEST(BatchNormFolds, OfALayerCalledTwiceAreTheCommonOnes) {
  const SymbolicTensor x = image();
  const LayerHandle shared = conv("a");
  const LayerHandle norm = bn("b");
  const SymbolicTensor once = ReLU()(norm(shared(x)));
  const Model model = shaken(x, bn("c")(norm(shared(once))));
  EXPECT_EQ(folds_of(model),
            "b -> a\n"
            "b -> a\n"
            "c stays: 'a' is called 2 times, not always followed by it\n");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(names(folded), (Names{"image", "a", "re_lu", "c"}));
  EXPECT_EQ(folded.nodes().size(), 5u);
}

TEST(BatchNormFolds, AreEmptyForALayerFollowedByDifferentNormalizations) {
  const SymbolicTensor x = image();
  const LayerHandle shared = conv("a");
  const SymbolicTensor y = bn("b")(shared(ReLU()(bn("c")(shared(x)))));
  EXPECT_EQ(folds_of(shaken(x, y)),
            "c stays: 'a' is called 2 times, not always followed by it\n"
            "b stays: 'a' is called 2 times, not always followed by it\n");
  const SymbolicTensor z = bn("b")(shared(shared(x)));
  EXPECT_EQ(folds_of(shaken(x, z)),
            "b stays: 'a' is called 2 times, not always followed by it\n");
}

TEST(BatchNormFolds, OfANormalizationCalledTwiceApplyToEachLayer) {
  const SymbolicTensor x = image();
  const LayerHandle norm = bn("b");
  const SymbolicTensor y = norm(ReLU()(norm(conv("a")(x))));
  EXPECT_EQ(folds_of(shaken(x, y)),
            "b -> a\n"
            "b stays: its input 're_lu' is of class ReLU\n");
  const SymbolicTensor z = norm(conv("d")(norm(conv("a")(x))));
  const Model model = shaken(x, z);
  EXPECT_EQ(folds_of(model), "b -> a\nb -> d\n");
  EXPECT_EQ(names(fold_batch_norm(model)), (Names{"image", "a", "d"}));
}

TEST(BatchNormFolds, ExcludeSharedParameters) {
  const SymbolicTensor x = image();
  Model nested(x, conv("a")(x), {.name = "nested"});
  const SymbolicTensor y = nested.outputs()[0];
  const Model model({x}, {bn("b")(y), nested(x)});
  EXPECT_EQ(folds_of(model), "b stays: 'a' shares 'kernel' with 'nested/a'\n");
}

TEST(FoldBatchNorm, LeavesTheModelUnchanged) {
  const Model model = quantized_and_calibrated(normalized(linear_kinds()[0]));
  const auto weights = weight_bits(model);
  const auto layers = names(model);
  const auto fixed = scales(model);
  const Tensor x = noise({3, 6, 5, 3});
  const auto answer = bits(model.predict(x));
  Model folded = fold_batch_norm(model);
  shake(folded, 99);
  quantizer(folded, "x")->set_scale(7);
  disable_fake_quant(folded);
  EXPECT_EQ(weight_bits(model), weights);
  EXPECT_EQ(names(model), layers);
  EXPECT_EQ(scales(model), fixed);
  EXPECT_EQ(bits(model.predict(x)), answer);
}

TEST(FoldBatchNorm, IsIdempotent) {
  const Model once =
      fold_batch_norm(quantized_and_calibrated(normalized(linear_kinds()[0])));
  const Model twice = fold_batch_norm(once);
  EXPECT_EQ(weight_bits(twice), weight_bits(once));
  EXPECT_EQ(names(twice), names(once));
  EXPECT_EQ(plan_of(twice), plan_of(once));
}

TEST(FoldBatchNorm, KeepsFlagsAndOptions) {
  const SymbolicTensor x = image();
  SymbolicTensor y = Conv2D({.filters = 4,
                             .strides = {2, 1},
                             .padding = Padding::same,
                             .use_bias = false,
                             .kernel_regularizer = {.l2 = 0.5f},
                             .bias_regularizer = {.l2 = 3},
                             .name = "frozen"})(x);
  y = bn("b")(y);
  Model model = shaken(x, bn("d")(conv("free")(y)));
  model.layer("frozen").set_trainable(false);
  const Model folded = fold_batch_norm(model);
  EXPECT_FALSE(folded.layer("frozen").trainable());
  EXPECT_FALSE(
      folded.layer("frozen").parameter("bias").variable.requires_grad());
  EXPECT_TRUE(folded.layer("free").trainable());
  const Parameter& kernel = folded.layer("frozen").parameter("kernel");
  EXPECT_EQ(kernel.regularizer.l2, 0.5f);
  EXPECT_TRUE(folded.layer("frozen").parameter("bias").regularizer.none());
  EXPECT_EQ(folded.layer("frozen").config().at("strides"),
            model.layer("frozen").config().at("strides"));
}

TEST(FoldBatchNorm, TurnsAQuantizedMultiplierIntoGroups) {
  const LinearKind kind = linear_kinds()[3];
  ASSERT_EQ(kind.name, "DepthwiseConv2DMultiplier");
  const Model model = quantized_and_calibrated(normalized(kind));
  EXPECT_EQ(to_string(batch_norm_folds(model)),
            "bn -> quant_linear; DepthwiseConv2D becomes Conv2D with 4 groups "
            "and 12 output scales\n");
  const Model folded = fold_batch_norm(model);
  const Layer& layer = folded.layer("quant_linear");
  EXPECT_EQ(layer.class_name(), "Conv2DQuantizeWrapper");
  EXPECT_EQ(layer.parameter("kernel").variable.shape(), Shape({3, 2, 1, 12}));
  // Float kernels have no scales.
  const Model real = fold_batch_norm(normalized(kind));
  EXPECT_EQ(real.layer("linear").class_name(), "DepthwiseConv2D");
}

/// x -> a -> b (normalization) -> c, quantized at the inputs of a and c, their
/// kernels, and the sites in `more`.
Model quantized_with(const std::vector<QdqPoint>& more,
                     const std::function<void(QdqPlan&)>& edit = {}) {
  const SymbolicTensor x = image();
  const Model model = shaken(x, conv("c")(bn("b")(conv("a")(x))));
  QdqPlan plan;
  const QuantizerConfig act = activation_quantizer();
  const QuantizerConfig weight = weight_quantizer();
  plan.points = {
      {"a", QdqSite::input(0), act, "image", "user"},
      {"a", QdqSite::weight("kernel"), weight, "a/kernel", "user", "why"},
      {"c", QdqSite::input(0), act, "b", "user"},
      {"c", QdqSite::weight("kernel"), weight, "c/kernel", "user"}};
  plan.points.insert(plan.points.end(), more.begin(), more.end());
  if (edit) edit(plan);
  Model result = apply(plan, model);
  calibrate(result, [](const Model& m) {
    (void)m.predict(noise({8, 6, 5, 4}));
  });
  return result;
}

QdqPoint point(const std::string& layer, const QdqSite& site,
               const std::string& group) {
  return {.layer = layer,
          .site = site,
          .config = activation_quantizer(),
          .group = group,
          .rule = "user"};
}

TEST(FoldBatchNorm, KeepsQuantizersAndTheirGroups) {
  const Model model = quantized_with({});
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(names(folded), (Names{"image", "quant_a", "quant_c"}));
  QdqPlan expected = plan_of(model);
  expected.points[1].config.rule = ScaleRule::fixed;
  EXPECT_EQ(plan_of(folded), expected);
  EXPECT_EQ(quantizer(folded, "image")->scale(),
            quantizer(model, "image")->scale());
  EXPECT_EQ(quantizer(folded, "b")->scale(), quantizer(model, "b")->scale());
}

TEST(FoldBatchNorm, ShowsTheScalesInTheConfiguration) {
  const Model folded = fold_batch_norm(quantized_with({}));
  const Config config = folded.layer("quant_a").config();
  const Config& weight = config.at("weights").as_list().at(0);
  EXPECT_EQ(weight.at("rule").as_string(), "fixed");
  EXPECT_EQ(weight.at("scales").as_list().size(), 4u);
  EXPECT_EQ(weight.find("scale"), nullptr);
}

TEST(FoldBatchNorm, KeepsQuantizersShared) {
  const SymbolicTensor x = image();
  const SymbolicTensor y = bn("b")(conv("a")(x));
  const SymbolicTensor z = bn("e")(conv("d")(x));
  const Model model =
      shaken(x, Add()({conv("f")(y), Add()({conv("g")(y), conv("h")(z)})}));
  const Model quantized = quantize_model(model, {.policy = Policy::toolkit});
  const Model folded = fold_batch_norm(quantized);
  const auto first = [&](const char* layer) {
    return wrapper(folded, layer).activations()[0].quantizer;
  };
  EXPECT_EQ(first("quant_a"), first("quant_d"));
  EXPECT_EQ(first("quant_f"), first("quant_g"));
  EXPECT_NE(first("quant_f"), first("quant_h"));
  EXPECT_EQ(quantizers(folded).size(), quantizers(quantized).size());
}

TEST(FoldBatchNorm, KeepsSwitches) {
  Model model = quantized_with({});
  disable_fake_quant(model);
  quantizer(model, "b")->set_enabled(true);
  EXPECT_EQ(switches(fold_batch_norm(model)), switches(model));
}

TEST(FoldBatchNorm, AcceptsAWrapperWithoutQuantizers) {
  const Model model = quantized_with({}).clone(
      [](const Layer& layer, CloneContext& context) -> std::shared_ptr<Layer> {
        auto copy = layer.clone(context);
        return layer.name() == "b" ? make_wrapper(copy) : copy;
      });
  EXPECT_EQ(names(fold_batch_norm(model)),
            (Names{"image", "quant_a", "quant_c"}));
}

TEST(FoldBatchNorm, MovesQdqBehindTheNormalizationToTheLayer) {
  const Model model = quantized_with({point("b", QdqSite::output(), "b_out")});
  EXPECT_EQ(folds_of(model), "quant_b -> quant_a\n");
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(wrapper(folded, "quant_a").activations().back().site,
            QdqSite::output());
  EXPECT_EQ(quantizer(folded, "b_out")->scale(),
            quantizer(model, "b_out")->scale());
  // The layer may have no wrapper.
  const SymbolicTensor x = image();
  QdqPlan plan;
  plan.points = {point("b", QdqSite::output(), "b_out")};
  const Model half = apply(plan, shaken(x, bn("b")(conv("a")(x))));
  EXPECT_EQ(names(fold_batch_norm(half)), (Names{"image", "quant_a"}));
  EXPECT_EQ(plan_of(fold_batch_norm(half)).points[0].layer, "a");
}

TEST(FoldBatchNorm, KeepsANormalizationWithQuantizedInput) {
  EXPECT_EQ(folds_of(quantized_with({point("b", QdqSite::input(0), "a")})),
            "quant_b stays: its input is quantized\n");
  EXPECT_EQ(folds_of(quantized_with({point("a", QdqSite::output(), "a")})),
            "b stays: the output of 'quant_a' is quantized\n");
}

// The quantizer's range is that of values before the normalization.
TEST(FoldBatchNorm, DoesNotLookThroughAQuantizedIdentity) {
  const SymbolicTensor x = image();
  const Model model =
      shaken(x, bn("bn")(Activation({.activation = "linear", .name = "same"})(
                    conv("conv")(x))));
  EXPECT_EQ(folds_of(model), "bn -> conv\n");
  QdqPoint point;
  point.site = QdqSite::input(0);
  point.rule = "test";
  point.layer = "same";
  point.config = activation_quantizer();
  Model quantized = apply({.points = {point}}, model);
  calibrate(quantized, [](const Model& m) {
    (void)m.predict(noise({3, 6, 5, 4}));
  });
  EXPECT_EQ(folds_of(quantized),
            "bn stays: its input 'quant_same' is of class Activation\n");
}

TEST(FoldBatchNorm, KeepsQuantizedBiasesAndGammas) {
  const QuantizerConfig weight = weight_quantizer();
  EXPECT_EQ(folds_of(quantized_with(
                {{"a", QdqSite::weight("bias"), weight, "a/bias", "user"}})),
            "b stays: the bias of 'quant_a' is quantized\n");
  EXPECT_EQ(folds_of(quantized_with(
                {{"b", QdqSite::weight("gamma"), weight, "b/gamma", "user"}})),
            "quant_b stays: its input is quantized\n");
}

}  // namespace
}  // namespace octet::quant
