// Uncalibrated models do not run as if they were INT8.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

TEST(Uncalibrated, ModelsDoNotRun) {
  Model model = quantize_model(doubling());
  const Tensor x = noise({2, 3});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)model.predict(x); }).code,
            "not_calibrated");
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)model(Variable(x), Mode::training);
            }).code,
            "not_calibrated");
  EXPECT_TRUE(needs_calibration(model));
  EXPECT_EQ(failure_of<ValueError>([&] { expect_calibrated("fit", model); }),
            (Failure{"not_calibrated", "fit"}));
}

TEST(Uncalibrated, ModelsRunAsFloatIfSwitchedOff) {
  Model model = quantize_model(doubling());
  disable_fake_quant(model);
  EXPECT_FALSE(needs_calibration(model));
  const Tensor x = noise({2, 3});
  EXPECT_EQ(bits(model.predict(x)), bits(doubling().predict(x)));
}

TEST(Uncalibrated, ModelsRunWhileObserving) {
  Model model = quantize_model(doubling());
  for (const auto& q : quantizers(model)) q->start_observing({});
  EXPECT_FALSE(needs_calibration(model));
  EXPECT_NO_THROW((void)model.predict(noise({2, 3})));
}

TEST(Uncalibrated, FloatModelsPass) {
  EXPECT_NO_THROW(expect_calibrated("fit", doubling()));
}

/// Conv2D and batch normalization, trained for a pass or not.
Model normalized(bool trained) {
  const SymbolicTensor x = input({6, 5, 3});
  Model model(x, BatchNormalization({.name = "bn"})(Conv2D(
                     {.filters = 4, .kernel_size = 3, .name = "conv"})(x)));
  if (trained) {
    (void)model(Variable(noise({4, 6, 5, 3})), Mode::training).value();
  }
  return quantize_model(model);
}

std::vector<Failure> warnings_of(Model model) {
  const WarningCapture kept;
  calibrate(model, [](const Model& m) {
    const NoGradGuard no_grad;
    (void)m(Variable(noise({4, 6, 5, 3}))).value();
  });
  return kept.messages;
}

// Its ranges fit no trained network: QAT of a MobileNet remained at ln 2.
TEST(Calibrate, WarnsOfUntrainedBatchStatistics) {
  const auto warnings = warnings_of(normalized(false));
  ASSERT_THAT(warnings,
              ElementsAre(Failure{"initial_statistics", "calibrate"}));
  EXPECT_THAT(quoted_names(warnings[0].text()), ElementsAre("bn"));
  EXPECT_TRUE(warnings_of(normalized(true)).empty());
}

/// 40 samples of class 0, then 40 of class 1, whose inputs are larger.
Dataset sorted() {
  Tensor inputs = noise({80, 3});
  for (float& x : inputs.f32().subspan(40 * 3)) x *= 10;
  Tensor labels = Tensor::zeros({80}, DType::i64);
  std::ranges::fill(labels.data<int64_t>().subspan(40), int64_t{1});
  return Dataset(inputs, labels);
}

TEST(Calibrate, WarnsOfTheFirstSamplesOfSortedData) {
  const WarningCapture kept;
  Model model = quantize_model(doubling());
  calibrate(model, sorted().take(20));
  ASSERT_THAT(kept.messages,
              ElementsAre(Failure{"missing_classes", "calibrate"}));
  EXPECT_EQ(numbers_in(kept.messages[0].text()).at(0), 1);
}

TEST(Calibrate, SamplesAtRandom) {
  const WarningCapture kept;
  Model model = quantize_model(doubling());
  calibrate(model, sorted(), {.method = Calibration::max, .samples = 20});
  EXPECT_TRUE(kept.messages.empty());
  EXPECT_GT(*quantizer(model, "x")->scale(), 2.0f / 127);
  Model again = quantize_model(doubling());
  calibrate(again, sorted().sample(20), {.method = Calibration::max});
  EXPECT_EQ(scales(again), scales(model));
  EXPECT_THROW(calibrate(model, sorted(), {.samples = -1}), ValueError);
}

TEST(Calibrate, WarnsOfDisabledQuantizers) {
  const WarningCapture kept;
  Model model = quantize_model(doubling());
  disable_fake_quant(model);
  calibrate(model, sorted());
  EXPECT_THAT(kept.messages,
              ElementsAre(Failure{"disabled_quantizers", "calibrate"}));
  enable_fake_quant(model);
  calibrate(model, sorted());
  EXPECT_EQ(kept.messages.size(), 1u);
}

TEST(Calibrate, RequiresAPercentage) {
  Model model = quantize_model(doubling());
  for (const float share : {0.9999f, 0.5f, 1.0f, 49.0f}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { calibrate(model, sorted(), {.percentile = share}); }),
              (Failure{"out_of_range", "CalibrationOptions.percentile"}))
        << share;
  }
}

}  // namespace
}  // namespace octet::quant
