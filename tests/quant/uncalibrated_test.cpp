// What is not calibrated does not run as if it were INT8.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::HasSubstr;

TEST(Uncalibrated, ModelsDoNotRun) {
  Model model = quantize_model(doubling());
  const Tensor x = noise({2, 3});
  EXPECT_THAT(error_of<ValueError>([&] { (void)model.predict(x); }),
              HasSubstr("run quant::calibrate first"));
  EXPECT_THAT(
      error_of<ValueError>([&] { (void)model(Variable(x), Mode::training); }),
      HasSubstr("quant::calibrate"));
  EXPECT_TRUE(needs_calibration(model));
  EXPECT_THAT(error_of<ValueError>([&] { expect_calibrated("fit", model); }),
              HasSubstr("fit: expected calibrated quantizers, but 'x' and 1 "
                        "more have no scale"));
}

TEST(Uncalibrated, ModelsRunAsFloatIfSwitchedOff) {
  Model model = quantize_model(doubling());
  disable_fake_quant(model);
  EXPECT_FALSE(needs_calibration(model));
  const Tensor x = noise({2, 3});
  EXPECT_EQ(bits(model.predict(x)), bits(doubling().predict(x)));
}

TEST(Uncalibrated, ModelsRunWhileTheyCollectRanges) {
  Model model = quantize_model(doubling());
  for (const auto& q : quantizers(model)) q->start_observing({});
  EXPECT_FALSE(needs_calibration(model));
  EXPECT_NO_THROW((void)model.predict(noise({2, 3})));
}

TEST(Uncalibrated, FloatModelsPass) {
  EXPECT_NO_THROW(expect_calibrated("fit", doubling()));
}

/// Conv2D and batch normalization, trained for one pass or not.
Model normalized(bool trained) {
  const SymbolicTensor x = input({6, 5, 3});
  Model model(x, BatchNormalization({.name = "bn"})(Conv2D(
                     {.filters = 4, .kernel_size = 3, .name = "conv"})(x)));
  if (trained) {
    (void)model(Variable(noise({4, 6, 5, 3})), Mode::training).value();
  }
  return quantize_model(model);
}

std::vector<std::string> warnings_of(Model model) {
  const WarningsKept kept;
  calibrate(model, [](const Model& m) {
    const NoGradGuard no_grad;
    (void)m(Variable(noise({4, 6, 5, 3}))).value();
  });
  return kept.messages;
}

// Its ranges fit no trained network: QAT of a MobileNet stayed at ln 2.
TEST(Calibrate, WarnsOfBatchStatisticsThatWereNeverTrained) {
  const auto warnings = warnings_of(normalized(false));
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_THAT(warnings[0], HasSubstr("train the float model"));
  EXPECT_THAT(warnings[0], HasSubstr("bn"));
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
  const WarningsKept kept;
  Model model = quantize_model(doubling());
  calibrate(model, sorted().take(20));
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_THAT(kept.messages[0], HasSubstr("none of 1 of them, the first 1"));
  EXPECT_THAT(kept.messages[0], HasSubstr(".samples"));
}

TEST(Calibrate, ChoosesSamplesByChance) {
  const WarningsKept kept;
  Model model = quantize_model(doubling());
  calibrate(model, sorted(), {.method = Calibration::max, .samples = 20});
  EXPECT_TRUE(kept.messages.empty());
  EXPECT_GT(*quantizer(model, "x")->scale(), 2.0f / 127);
  Model again = quantize_model(doubling());
  calibrate(again, sorted().sample(20), {.method = Calibration::max});
  EXPECT_EQ(scales(again), scales(model));
  EXPECT_THROW(calibrate(model, sorted(), {.samples = -1}), ValueError);
}

TEST(Calibrate, WarnsOfQuantizersThatStayOff) {
  const WarningsKept kept;
  Model model = quantize_model(doubling());
  disable_fake_quant(model);
  calibrate(model, sorted());
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_THAT(kept.messages[0], HasSubstr("enable_fake_quant"));
  enable_fake_quant(model);
  calibrate(model, sorted());
  EXPECT_EQ(kept.messages.size(), 1u);
}

TEST(Calibrate, AsksForAPercentage) {
  Model model = quantize_model(doubling());
  for (const float share : {0.9999f, 0.5f, 1.0f, 49.0f}) {
    EXPECT_THAT(error_of<ValueError>(
                    [&] { calibrate(model, sorted(), {.percentile = share}); }),
                HasSubstr("99.99 leaves out one value in 10,000"))
        << share;
  }
}

}  // namespace
}  // namespace octet::quant
