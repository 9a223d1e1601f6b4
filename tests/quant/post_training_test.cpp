// Post-training methods against closed forms and brute force.
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>

#include "../facts.h"
#include "post_training_support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<float> values_of(const Model& model, const std::string& layer) {
  const Tensor kernel = kernel_of(model, layer);
  return {kernel.f32().begin(), kernel.f32().end()};
}

TEST(RoundWeights, IsNeverWorseThanNearestInAnyLayer) {
  const Dataset data = samples(40, {4, 5, 3});
  for (const int bits : {2, 3, 4, 8}) {
    Model model = calibrated(all_kinds(), data, bits);
    const auto layers = round_weights(model, data);
    ASSERT_EQ(layers.size(), 4u);
    int64_t changed = 0;
    for (const LayerRounding& layer : layers) {
      EXPECT_EQ(layer.skipped, "");
      EXPECT_LE(layer.error, layer.nearest_error) << layer.layer << bits;
      EXPECT_GT(layer.error, 0) << layer.layer;
      changed += layer.changed;
    }
    EXPECT_GT(changed, 0) << bits;
  }
}

TEST(RoundWeights, FindsTheBestRoundingOfATinyLayer) {
  // Four correlated inputs, two outputs, values in [-1,1]: all 81 are tried.
  const SymbolicTensor x = input({4}, "x");
  Model network(x, Dense({.units = 2, .use_bias = false, .name = "dense"})(x),
                {.seed = 5});
  shake(network);
  Tensor inputs = noise({30, 4}, 7);
  for (size_t i = 0; i < 120; i += 4) {
    inputs.f32()[i + 1] += 2 * inputs.f32()[i];
    inputs.f32()[i + 3] -= inputs.f32()[i + 1];
  }
  const Dataset data = Dataset::unlabeled({{"x", inputs}});
  Model model = calibrated(network, data, 2);
  const Tensor exact = kernel_of(model, "quant_dense");
  const auto scales = quantizers(model)[1]->scales();
  const float step = *quantizers(model)[0]->scale();
  round_weights(model, data, {.damping = 0});
  const Tensor rounded = kernel_of(model, "quant_dense");

  const auto error = [&](size_t column, const std::vector<float>& weights) {
    double sum = 0;
    for (size_t row = 0; row < 120; row += 4) {
      double e = 0;
      for (size_t k = 0; k < 4; ++k) {
        e += double{rounded_to(inputs.f32()[row + k], step)} *
             (double{exact.f32()[2 * k + column]} - weights[k]);
      }
      sum += e * e;
    }
    return sum;
  };
  for (size_t column = 0; column < 2; ++column) {
    double least = std::numeric_limits<double>::infinity();
    for (int code = 0; code < 81; ++code) {
      std::vector<float> weights;
      for (int rest = code, k = 0; k < 4; ++k, rest /= 3) {
        weights.push_back(scales[column] * static_cast<float>(rest % 3 - 1));
      }
      least = std::min(least, error(column, weights));
    }
    std::vector<float> found;
    for (size_t k = 0; k < 4; ++k) {
      found.push_back(rounded.f32()[2 * k + column]);
    }
    EXPECT_NEAR(error(column, found), least, 1e-9 * least + 1e-12);
  }
}

TEST(RoundWeights, LeavesQuantizedValuesToSessionsAndFiles) {
  const Dataset data = samples(20, {4, 5, 3});
  Model model = calibrated(all_kinds(), data, 4);
  round_weights(model, data);
  for (const PlacedQuantizer& placed : weight_quantizers(model)) {
    const std::string name = placed.quantizer->name();
    const Layer& inner =
        float_layer(model.layer("quant_" + name.substr(0, name.find('/'))));
    const Parameter& p = inner.parameters()[0];
    const Variable again = placed.quantizer->weight(p.variable, p.channel_axis);
    EXPECT_TRUE(
        std::ranges::equal(again.value().f32(), p.variable.value().f32()))
        << name;
  }
}

TEST(RoundWeights, RefusesLiveScalesAndFloatModels) {
  Model model = calibrated_quickstart();
  const Dataset data = samples(8, {8, 6, 1});
  EXPECT_EQ(failure_of<ValueError>([&] { round_weights(model, data); }),
            (Failure{"unsupported_value", "quantizer 'conv2d/kernel'"}));
  EXPECT_THROW(round_weights(model, data, {.damping = 2}), ValueError);
  EXPECT_THROW(round_weights(model, data, {.batch_size = 0}), ValueError);
  EXPECT_THROW(correct_biases(model, data, {.batch_size = 0}), ValueError);
  Model plain = quickstart();
  EXPECT_EQ(failure_of<ValueError>([&] { round_weights(plain, data); }),
            (Failure{"not_quantized", "round_weights"}));
}

TEST(RoundWeights, RefusesNan) {
  const Dataset data = samples(8, {4, 5, 3});
  Model model = calibrated(all_kinds(), data, 8);
  Tensor kernel = kernel_of(model, "quant_groups");
  kernel.f32()[1] = std::numeric_limits<float>::quiet_NaN();
  float_layer(model.layer("quant_groups"))
      .parameters()[0]
      .variable.assign(kernel);
  EXPECT_EQ(failure_of<ValueError>([&] { round_weights(model, data); }),
            (Failure{"not_finite", "layer 'groups'"}));
}

TEST(RoundWeights, SupportsInputsThatAreAlwaysZero) {
  Tensor inputs = noise({20, 4, 5, 3}, 2);
  for (size_t i = 0; i < inputs.f32().size(); i += 3) inputs.f32()[i] = 0;
  const Dataset data = Dataset::unlabeled({{"image", inputs}});
  Model model = calibrated(all_kinds(), data, 3);
  for (const LayerRounding& layer : round_weights(model, data)) {
    EXPECT_LE(layer.error, layer.nearest_error);
  }
}

TEST(CorrectBiases, MakesTheMeanErrorZeroOnTheSamples) {
  const Dataset data = samples(40, {4, 5, 3});
  const Model network = all_kinds();
  Model model = calibrated(network, data, 2);
  const auto mean = [&](const Model& m) {
    const Tensor y = m.predict(data.batch(0, 40).inputs)[0];
    std::vector<double> sums(3);
    for (size_t i = 0; i < y.f32().size(); ++i) sums[i % 3] += y.f32()[i] / 40;
    return sums;
  };
  const auto wanted = mean(network);
  const auto before = mean(model);
  const auto layers = correct_biases(model, data, {.samples = 0});
  const auto after = mean(model);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_GT(std::fabs(before[c] - wanted[c]), 1e-3);
    // The mean of 40 sums of floats of magnitude 1.
    EXPECT_NEAR(after[c], wanted[c], 1e-5);
  }
  ASSERT_EQ(layers.size(), 4u);
  for (const LayerBias& layer : layers) EXPECT_GT(layer.largest_shift, 0);
}

TEST(CorrectBiases, SkipsLayersWithoutABias) {
  Model model = calibrated_quickstart();
  const auto layers = correct_biases(model, samples(8, {8, 6, 1}));
  ASSERT_EQ(layers.size(), 2u);
  EXPECT_EQ(layers[0].skipped, "it has no bias");
  EXPECT_EQ(layers[1].skipped, "");
}

/// The largest difference between the outputs of two models, of magnitude 1.
double difference(const Model& a, const Model& b, const Shape& shape) {
  const Tensor x = noise(shape, 11);
  const Tensor ya = a.predict(x);
  const Tensor yb = b.predict(x);
  double largest = 0;
  for (size_t i = 0; i < ya.f32().size(); ++i) {
    largest = std::max(largest, std::fabs(double{ya.f32()[i]} - yb.f32()[i]));
  }
  return largest;
}

TEST(Equalize, PreservesTheFunction) {
  const Model before = all_kinds();
  Model model = before.clone();
  const auto pairs = equalize(model);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_EQ(pairs[0].second, "depthwise");
  EXPECT_EQ(pairs[1].second, "groups");
  EXPECT_EQ(pairs[2].second, "dense");
  EXPECT_NE(pairs[3].skipped, "");
  EXPECT_GT(pairs[0].largest, pairs[0].smallest);
  EXPECT_NE(values_of(model, "conv"), values_of(before, "conv"));
  EXPECT_LE(difference(model, before, {5, 4, 5, 3}), 1e-5);
}

TEST(Equalize, EqualizesTheRangesOfBothSides) {
  Model model = doubling(2);
  model.layer("first").parameter("kernel").variable.assign(
      Tensor::of({2, 2}, {8.0f, 0.0f, 0.0f, 0.5f}));
  model.layer("second").parameter("kernel").variable.assign(
      Tensor::of({2, 2}, {2.0f, 0.0f, 0.0f, 0.5f}));
  equalize(model);
  // sqrt(8 * 2) and sqrt(0.5 * 0.5) on both sides.
  EXPECT_THAT(values_of(model, "first"), ElementsAre(4, 0, 0, 0.5f));
  EXPECT_THAT(values_of(model, "second"), ElementsAre(4, 0, 0, 0.5f));
}

// A convolution whose channels have different ranges, and a tail.
template <class Tail>
Model with_tail(const Tail& tail) {
  const SymbolicTensor x = input({6, 5, 2}, "x");
  const SymbolicTensor y = Conv2D({.filters = 3,
                                   .kernel_size = 3,
                                   .padding = Padding::same,
                                   .name = "first"})(x);
  Model model(x, tail(y), {.seed = 3});
  shake(model);
  Tensor kernel = kernel_of(model, "first");
  for (size_t i = 0; i < kernel.f32().size(); i += 3) kernel.f32()[i] *= 50;
  model.layer("first").parameter("kernel").variable.assign(kernel);
  return model;
}

TEST(Equalize, LooksThroughLayersThatKeepChannels) {
  const auto expect_equalized = [](const auto& tail) {
    const Model before = with_tail(tail);
    Model model = before.clone();
    const auto pairs = equalize(model);
    ASSERT_EQ(pairs.size(), 2u);
    EXPECT_EQ(pairs[0].second, "second") << pairs[0].skipped;
    EXPECT_GT(pairs[0].largest, 3 * pairs[0].smallest);
    EXPECT_LE(difference(model, before, {4, 6, 5, 2}), 2e-4);
  };
  expect_equalized([](SymbolicTensor y) {
    y = MaxPooling2D({.pool_size = {2, 1}})(LeakyReLU()(y));
    y = ZeroPadding2D({.padding = 1})(Dropout({.rate = 0.5f})(y));
    return Conv2D({.filters = 4, .kernel_size = 2, .name = "second"})(y);
  });
  expect_equalized([](SymbolicTensor y) {
    y = Flatten()(AveragePooling2D({.pool_size = 2})(PReLU()(y)));
    return Dense({.units = 4, .name = "second"})(y);
  });
  expect_equalized([](SymbolicTensor y) {
    y = GlobalAveragePooling2D()(UpSampling2D()(ReLU()(y)));
    return Dense({.units = 4, .name = "second"})(y);
  });
}

// A permutation moves channels to another axis.
TEST(Equalize, StopsAtLayersThatMixChannels) {
  for (const bool permuted : {true, false}) {
    Model model = with_tail([&](const SymbolicTensor& y) {
      const SymbolicTensor z = permuted ? Permute({.dims = {3, 1, 2}})(y)
                                        : Reshape({.target_shape = {5, 18}})(y);
      return Dense({.units = 4, .name = "second"})(z);
    });
    EXPECT_NE(equalize(model)[0].skipped, "");
  }
}

TEST(Equalize, SkipsOtherActivationsAndSharedTensors) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor a =
      Dense({.units = 5, .activation = "tanh", .name = "a"})(x);
  const SymbolicTensor b = Dense({.units = 5, .name = "b"})(a);
  const SymbolicTensor c = Dense({.units = 5, .name = "c"})(b);
  const SymbolicTensor r = ReLU({.max_value = 6, .name = "relu6"})(c);
  Model model(x, Add()({Dense({.units = 5, .name = "d"})(r), b}));
  const auto pairs = equalize(model);
  ASSERT_EQ(pairs.size(), 4u);
  EXPECT_THAT(pairs[0].skipped, HasSubstr("tanh"));
  EXPECT_THAT(numbers_in(pairs[1].skipped), ElementsAre(2));
  EXPECT_THAT(quoted_names(pairs[2].skipped), ElementsAre("relu6"));
  EXPECT_THAT(quoted_names(pairs[3].skipped), ElementsAre("add"));
}

TEST(Equalize, LeavesDeadChannelsAndRefusesQuantizedModels) {
  Model model = doubling(3);
  Tensor kernel = kernel_of(model, "second");
  for (size_t i = 0; i < 3; ++i) kernel.f32()[i] = 0;  // consumes channel 0
  model.layer("second").parameter("kernel").variable.assign(kernel);
  equalize(model);
  EXPECT_EQ(values_of(model, "first")[0], 2);
  Model quantized = calibrated_quickstart();
  EXPECT_THROW(equalize(quantized), ValueError);
}

TEST(Equalize, RecoversPerTensorWeightsOfADepthwiseLayer) {
  // Channels of very different ranges, as after folding.
  const Model before = [] {
    Model model = all_kinds();
    Tensor kernel = kernel_of(model, "depthwise");
    for (size_t i = 0; i < kernel.f32().size(); ++i) {
      kernel.f32()[i] *= i % 8 == 0 ? 60.0f : 0.1f;
    }
    model.layer("depthwise").parameters()[0].variable.assign(kernel);
    return model;
  }();
  const Dataset data = samples(40, {4, 5, 3});
  Model equalized = before.clone();
  equalize(equalized);
  const double plain =
      difference(calibrated(before, data, 8, false), before, {9, 4, 5, 3});
  const double better =
      difference(calibrated(equalized, data, 8, false), before, {9, 4, 5, 3});
  EXPECT_LT(better, plain);
}

TEST(PtqLadder, RefusesInvalidTargetsAndOptions) {
  const Model model = all_kinds();
  const Dataset data = samples(40, {4, 5, 3});
  const auto nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)ptq_pipeline(model, data, nan), ValueError);
  EXPECT_THROW((void)ptq_pipeline(model, data, 1, {.held_out = 1}), ValueError);
  EXPECT_THROW(
      (void)ptq_pipeline(model, data, 1, {.methods = {.batch_size = 0}}),
      ValueError);
  const Dataset plain = Dataset::unlabeled({{"image", noise({40, 4, 5, 3})}});
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)ptq_pipeline(model, plain, 1); }),
      (Failure{"missing_value", "ptq_pipeline"}));
}

TEST(PtqLadder, LeavesTheModelUnchangedAndReturnsTheBestStage) {
  const Model model = all_kinds();
  const auto before = values_of(model, "conv");
  double score = 0;  // increases with each call
  const auto next = [&](const Model&, const Dataset&) { return score += 1; };
  const PtqPipeline ladder =
      ptq_pipeline(model, samples(40, {4, 5, 3}), 1e6, {.score = next});
  EXPECT_EQ(values_of(model, "conv"), before);
  ASSERT_EQ(ladder.stages.size(), 6u);
  EXPECT_EQ(ladder.selected, ladder.stages.back().method);
  EXPECT_FALSE(ladder.met);
  EXPECT_THAT(ladder.to_string(), HasSubstr("target missed"));
}

// Without a target every method is tried; labels are not needed and do not
// select.
TEST(PtqLadder, SelectsByTheOutputSqnr) {
  const Model model = all_kinds();
  const Dataset plain = Dataset::unlabeled({{"image", noise({80, 4, 5, 3})}});
  const PtqPipelineOptions options{.quantize = fixed_weights(3),
                                   .methods = {.iterations = 100}};
  const PtqPipeline found = ptq_pipeline(model, plain, {}, options);
  EXPECT_TRUE(found.met);
  ASSERT_GE(found.stages.size(), 6u);
  const auto best =
      std::ranges::max_element(found.stages, {}, &PtqStage::output_sqnr);
  EXPECT_EQ(found.selected, best->method);
  EXPECT_GT(best->output_sqnr, found.stages[0].output_sqnr);
  EXPECT_THAT(lines_of(found.to_string()),
              Contains(StartsWith("> " + found.selected)));
  EXPECT_FALSE(best->score.has_value());
  // Every label is wrong, so all methods have equal accuracy.
  const Tensor x = plain.batch(0, 80).input();
  const PtqPipeline labelled = ptq_pipeline(
      model, Dataset(x, samples(80, {4, 5, 3}).labels()), {}, options);
  EXPECT_EQ(labelled.selected, found.selected);
  EXPECT_TRUE(labelled.float_score.has_value());
}

TEST(PtqLadder, ChecksATargetByASeparateMetric) {
  int64_t calls = 0;
  const auto check = [&](const Model&, const Dataset&) {
    return ++calls < 4 ? 0.0 : 1.0;
  };
  const PtqPipeline found =
      ptq_pipeline(all_kinds(), samples(40, {4, 5, 3}), 1, {.check = check});
  EXPECT_TRUE(found.met);
  EXPECT_EQ(found.stages.size(), 3u);  // and the float model
  EXPECT_EQ(found.selected, found.stages.back().method);
}

TEST(PtqLadder, DoesNotSplitFewSamples) {
  for (const int64_t n : {1, 2}) {
    const WarningCapture warnings;
    const PtqPipeline found = ptq_pipeline(
        all_kinds(), Dataset::unlabeled({{"image", noise({n, 4, 5, 3})}}), {},
        {.methods = {.iterations = 1}});
    EXPECT_EQ(found.held_out, n);
    EXPECT_THAT(warnings.messages,
                Contains(Failure{"too_few_samples", "ptq_pipeline"}));
  }
}

TEST(PtqLadder, UsesACustomPlacement) {
  double score = 0;
  const auto next = [&](const Model&, const Dataset&) { return score -= 1; };
  const auto by_patterns = [](ScaleRule rule) {
    return [rule](const Model& model) {
      const TransformResult found = transform(model, tensorrt_patterns());
      QuantizerConfig weight = weight_quantizer();
      weight.rule = rule;
      return insert_qdq(found.model, found.matches, {.weight = weight});
    };
  };
  const PtqPipeline ladder =
      ptq_pipeline(all_kinds(), samples(40, {4, 5, 3}), 1e6,
                   {.place = by_patterns(ScaleRule::fixed), .score = next});
  EXPECT_EQ(ladder.selected, "nearest rounding");
  const Model same =
      by_patterns(ScaleRule::fixed)(fold_batch_norm(all_kinds()));
  EXPECT_EQ(quantizers(ladder.model).size(), quantizers(same).size());
  EXPECT_NE(quantizers(same).size(),
            quantizers(quantize_model(fold_batch_norm(all_kinds()))).size());
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)ptq_pipeline(
                  all_kinds(), samples(40, {4, 5, 3}), 1e6,
                  {.place = by_patterns(ScaleRule::live), .score = next});
            }).code,
            "unsupported_value");
}

TEST(PtqLadder, ScoresTheFloatModelOnTheSameSamples) {
  std::vector<int64_t> judged;
  const auto next = [&](const Model&, const Dataset& samples) {
    judged.push_back(samples.size());
    return judged.size() == 1 ? 9.0 : 8.0;  // the float model is the first
  };
  const PtqPipeline ladder =
      ptq_pipeline(all_kinds(), samples(40, {4, 5, 3}), 1.5,
                   {.score = next, .below_float = true});
  EXPECT_EQ(ladder.float_score, 9);
  EXPECT_EQ(ladder.target, 7.5);
  EXPECT_TRUE(ladder.met);
  EXPECT_EQ(judged.front(), 10);
}

}  // namespace
}  // namespace octet::quant
