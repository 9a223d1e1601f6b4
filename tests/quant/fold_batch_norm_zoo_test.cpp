// Folding in complete networks, and its consequences.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>

#include "folding.h"

namespace octet::quant {
namespace {

struct Network {
  std::string name;
  zoo::Options options;
  int64_t folded;  ///< number of folded normalizations, counted in the papers'
                   ///< figures
  int64_t kept;
};

void PrintTo(const Network& network, std::ostream* out) {
  *out << network.name;
}

class FoldOfNetwork : public ::testing::TestWithParam<Network> {
 protected:
  static Model make() {
    Model model = zoo::make(GetParam().name, GetParam().options);
    disturb_signs(model);
    return model;
  }
};

// DenseNet normalizes concatenations: only the stem and the 58 inner layers
// have a convolution before their normalization.
INSTANTIATE_TEST_SUITE_P(
    , FoldOfNetwork,
    ::testing::Values(
        Network{"resnet8", {}, 7, 0},
        Network{"mobilenet_v1_025", {.input = {40, 32, 3}}, 27, 0},
        Network{"ds_cnn", {}, 9, 0}, Network{"pippin", {}, 7, 0},
        Network{"mobilenet_v2",
                {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35},
                52,
                0},
        Network{"densenet121", {.input = {32, 33, 3}, .classes = 10}, 59, 62}),
    [](const auto& network) { return network.param.name; });

/// Largest difference, relative to the largest output.
double difference(const Tensor& a, const Tensor& b) {
  double most = 0;
  for (size_t i = 0; i < a.f32().size(); ++i) {
    most = std::max(most, std::fabs(double{a.f32()[i]} - b.f32()[i]));
  }
  return most / absmax(b);
}

Tensor images_for(const Model& model, int64_t count, uint64_t seed) {
  return noise(model.inputs()[0].shape().with(0, count), seed);
}

TEST_P(FoldOfNetwork, PreservesTheOutputs) {
  const Model model = make();
  const auto folds = batch_norm_folds(model);
  const auto folded = std::ranges::count_if(
      folds, [](const BatchNormFold& fold) { return !fold.into.empty(); });
  EXPECT_EQ(folded, GetParam().folded);
  EXPECT_EQ(std::ssize(folds) - folded, GetParam().kept) << to_string(folds);
  const Tensor x = images_for(model, 4, 1);
  const Model result = fold_batch_norm(model);
  EXPECT_EQ(std::ssize(result.layers()), std::ssize(model.layers()) - folded);
  // Float32 sums rounded differently, through up to 120 layers: 2e-6 was
  // measured for another order of summation.
  EXPECT_LT(difference(result.predict(x), model.predict(x)), 1e-5);
}

Model calibrated(const Model& model) {
  Model result = quantize_model(model, {.policy = Policy::toolkit});
  calibrate(result,
            [&](const Model& m) { (void)m.predict(images_for(m, 8, 2)); });
  return result;
}

/// Quantized values of all weights, or those expected after folding: with the
/// sign of a following normalization's gamma.
std::vector<int> all_codes(const Model& model) {
  std::map<std::string, std::string> normalization_of;
  for (const BatchNormFold& fold : batch_norm_folds(model)) {
    if (!fold.into.empty()) normalization_of[fold.into] = fold.batch_norm;
  }
  std::vector<int> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapped = as_wrapper(*layer);
    if (wrapped == nullptr) continue;
    for (const auto& weight : wrapped->weights()) {
      auto codes = codes_of(model, layer->name(), weight.site.parameter);
      const auto bn = normalization_of.find(layer->name());
      if (bn != normalization_of.end()) {
        const auto gamma = values(value_of(model, bn->second, "gamma"));
        for (size_t i = 0; i < codes.size(); ++i) {
          if (gamma[i % gamma.size()] < 0) codes[i] = -codes[i];
        }
      }
      result.insert(result.end(), codes.begin(), codes.end());
    }
  }
  return result;
}

TEST_P(FoldOfNetwork, PreservesQuantizedValues) {
  const Model model = calibrated(make());
  const Model folded = fold_batch_norm(model);
  EXPECT_EQ(all_codes(folded), all_codes(model));
  EXPECT_EQ(quantizers(folded).size(), quantizers(model).size());
  EXPECT_EQ(scales(folded), scales(model));
}

TEST_P(FoldOfNetwork, PreservesTheOutputsOfTheQuantizedNetwork) {
  const Model model = calibrated(make());
  const Tensor x = images_for(model, 4, 1);
  // As above; a difference at a rounding border flips a quantized value.
  EXPECT_LT(difference(fold_batch_norm(model).predict(x), model.predict(x)),
            0.05);
}

/// Two epochs of fine-tuning.
train::History tune(Model& model, const Dataset& data, float rate) {
  prepare_qat(model);
  train::FitOptions options;
  options.epochs = 2;
  options.batch_size = 16;
  options.optimizer = train::SGD({.learning_rate = rate, .momentum = 0.9f});
  return train::fit(model, data, options);
}

TEST(QatAfterFolding, MovesWeightsAndKeepsScales) {
  Model model = fold_batch_norm(calibrated_quickstart());
  const auto weights = weight_bits(model);
  const auto fixed = scales(model);
  const auto channels = quantizer(model, "conv2d/kernel")->scales();
  const std::vector<float> before(channels.begin(), channels.end());
  const auto history = tune(model, samples(48, {8, 6, 1}), 0.01f);
  EXPECT_NE(weight_bits(model), weights);
  EXPECT_EQ(scales(model), fixed);
  EXPECT_THAT(quantizer(model, "conv2d/kernel")->scales(),
              ::testing::ElementsAreArray(before));
  EXPECT_LT(history.back().loss, history.front().loss);
}

TEST(QatAfterFolding, StopsWeightsAtTheEndOfTheirRange) {
  const LinearKind dense = linear_kinds()[7];
  Model model = fold_batch_norm(quantized_and_calibrated(normalized(dense)));
  const Parameter& kernel =
      wrapper(model, "quant_linear").inner().parameter("kernel");
  const float scale = quantizer(model, "linear/kernel")->scales()[0];
  // Channel 0 of the first two inputs: beyond the range and just within.
  kernel.variable.mutable_value()[0] = 127.6f * scale;
  kernel.variable.mutable_value()[8] = 127.4f * scale;
  const Variable y = model(Variable(noise({4, 17})), Mode::training);
  octet::regularization_loss(y, 0, 1).backward();
  EXPECT_EQ(kernel.variable.grad().f32()[0], 0);
  EXPECT_NE(kernel.variable.grad().f32()[8], 0);
}

TEST(QatAfterFolding, RecalibratesActivationsAndKeepsWeights) {
  Model model = fold_batch_norm(calibrated_quickstart());
  const auto q = quantizer(model, "conv2d/kernel");
  const std::vector<float> before = q->scales();
  const float image = *quantizer(model, "image")->scale();
  const auto ranges = calibrate(model, [](const Model& m) {
    Tensor x = noise({8, 8, 6, 1});
    for (float& v : x.f32()) v *= 3;
    (void)m.predict(x);
  });
  EXPECT_GT(*quantizer(model, "image")->scale(), 2 * image);
  EXPECT_THAT(q->scales(), ::testing::ElementsAreArray(before));
  for (const auto& range : ranges) EXPECT_NE(range.quantizer, q->name());
}

}  // namespace
}  // namespace octet::quant
