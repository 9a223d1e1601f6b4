// QAT switches on networks with all kinds of wrappers, and the complete
// workflow from calibration to a folded model.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/train/train.h>

#include "folding.h"

namespace octet::quant {
namespace {

using ::testing::Each;

/// A network and its quantization options.
struct Way {
  std::string name;
  std::string network;
  zoo::Options options;
  QuantizeOptions how;
};

void PrintTo(const Way& way, std::ostream* out) { *out << way.name; }

QuantizationSpec spec_of_class(const std::string& name) {
  QuantizationSpec spec;
  spec.add(name, {.is_keras_class = true});
  return spec;
}

std::vector<Way> ways() {
  const QuantizeOptions toolkit{.policy = Policy::toolkit};
  QuantizeOptions with_bn = toolkit;
  with_bn.spec = spec_of_class("BatchNormalization");
  QuantizeOptions with_case = toolkit;
  with_case.cases = {ResNetV2QDQCase()};
  QuantizeOptions fixed = toolkit;
  fixed.weight.rule = ScaleRule::fixed;
  return {
      {"Residual", "resnet8", {}, toolkit},
      {"Default", "resnet8", {}, {}},
      {"Depthwise",
       "mobilenet_v1_025",
       {.input = {40, 32, 3}, .classes = 10},
       toolkit},
      {"Concatenated", "merry", {}, toolkit},
      {"EveryNormalization", "pippin", {}, with_bn},
      {"Case", "resnet50_v2", {.input = {32, 35, 3}, .classes = 10}, with_case},
      {"FixedWeights", "pippin", {}, fixed},
  };
}

class QatOf : public ::testing::TestWithParam<Way> {
 protected:
  static Model real() {
    Model model = zoo::make(GetParam().network, GetParam().options);
    disturb_signs(model);
    return model;
  }
  static Tensor images(const Model& model, int64_t count) {
    return noise(model.inputs()[0].shape().with(0, count), 3);
  }
  static Model calibrated(const Model& real) {
    Model model = quantize_model(real, GetParam().how);
    calibrate(model, [](const Model& m) { (void)m.predict(images(m, 8)); });
    return model;
  }
};

INSTANTIATE_TEST_SUITE_P(, QatOf, ::testing::ValuesIn(ways()),
                         [](const auto& way) { return way.param.name; });

TEST_P(QatOf, NeedsCalibration) {
  Model model = quantize_model(real(), GetParam().how);
  disable_fake_quant(model);
  EXPECT_EQ(failure_of<ValueError>([&] { prepare_qat(model); }),
            (Failure{"not_calibrated", "prepare_qat"}));
  EXPECT_THAT(switches(model), Each(false));
  calibrate(model, [](const Model& m) { (void)m.predict(images(m, 8)); });
  prepare_qat(model);
  EXPECT_THAT(switches(model), Each(true));
}

TEST_P(QatOf, SwitchedOffIsTheFloatNetwork) {
  const Model float_model = real();
  Model model = calibrated(float_model);
  const Tensor x = images(model, 3);
  const auto rounded = bits(model.predict(x));
  EXPECT_NE(rounded, bits(float_model.predict(x)));
  const auto before = scales(model);
  disable_fake_quant(model);
  EXPECT_EQ(bits(model.predict(x)), bits(float_model.predict(x)));
  enable_fake_quant(model);
  EXPECT_EQ(bits(model.predict(x)), rounded);
  EXPECT_EQ(scales(model), before);
}

/// Moving statistics of all normalizations, wrapped or not.
std::vector<std::vector<uint32_t>> statistics(const Model& model) {
  std::vector<std::vector<uint32_t>> result;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.name.starts_with("moving_")) result.push_back(bits(p.variable));
    }
  }
  return result;
}

TEST_P(QatOf, FreezesTheStatisticsOfAllNormalizations) {
  Model model = calibrated(real());
  prepare_qat(model);
  const auto before = statistics(model);
  ASSERT_FALSE(before.empty());
  const Variable x(images(model, 4));
  freeze_bn_stats(model);
  (void)model(x, Mode::training).value();
  EXPECT_EQ(statistics(model), before);
  freeze_bn_stats(model, false);
  (void)model(x, Mode::training).value();
  const auto after = statistics(model);
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]);
}

class QatAndFoldingOf : public QatOf {};

// Without the large network.
INSTANTIATE_TEST_SUITE_P(, QatAndFoldingOf, ::testing::ValuesIn([] {
                           auto some = ways();
                           std::erase_if(some, [](const Way& way) {
                             return way.name == "Case";
                           });
                           return some;
                         }()),
                         [](const auto& way) { return way.param.name; });

TEST_P(QatAndFoldingOf, TrainsFoldsAndTrainsOn) {
  Model model = calibrated(real());
  const auto train_a_bit = [](Model& m) {
    prepare_qat(m);
    const auto before = weight_bits(m);
    const Shape& shape = m.inputs()[0].shape();
    const auto history =
        train::fit(m, samples(8, shape.slice(1, shape.rank())),
                   {.epochs = 1,
                    .batch_size = 4,
                    .optimizer = train::SGD({.learning_rate = 1e-4f})});
    EXPECT_TRUE(std::isfinite(history.back().loss));
    EXPECT_NE(weight_bits(m), before);
  };
  train_a_bit(model);
  Model folded = fold_batch_norm(model);
  const auto fixed = scales(folded);
  const auto stays = std::ranges::count(batch_norm_folds(model), std::string(),
                                        &BatchNormFold::into);
  EXPECT_EQ(std::ssize(statistics(folded)), 2 * stays);
  train_a_bit(folded);
  EXPECT_EQ(scales(folded), fixed);
}

}  // namespace
}  // namespace octet::quant
