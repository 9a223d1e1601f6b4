#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::StartsWith;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
const CalibrationOptions kMax{.method = Calibration::max};

/// Returns a loop over the batches.
std::function<void(const Model&)> loop(std::vector<Tensor> batches) {
  return [batches = std::move(batches)](const Model& model) {
    const NoGradGuard no_grad;
    for (const Tensor& x : batches) (void)model(Variable(x)).value();
  };
}

/// A quantized doubling() with scales 3 and 5, whose last quantizer is
/// disabled.
Model prepared() {
  Model model = quantize_model(doubling());
  quantizer(model, "x")->set_scale(3);
  quantizer(model, "relu")->set_scale(5);
  quantizer(model, "second/kernel")->set_enabled(false);
  return model;
}

/// Expects prepared() unchanged.
void expect_as_prepared(const Model& model) {
  EXPECT_EQ(scales(model), scales(prepared()));
  EXPECT_EQ(switches(model), switches(prepared()));
  for (const auto& q : quantizers(model)) EXPECT_FALSE(q->observing());
}

TEST(Calibrate, SetsScalesToTheLargestActivationBy127) {
  Model model = quantize_model(doubling());
  // The first layer doubles; ReLU drops negative values.
  const auto ranges = calibrate(
      model, loop({tensor({1, 3}, {1, -8, 3}), tensor({1, 3}, {2, 0, 1})}),
      kMax);
  EXPECT_EQ(quantizer(model, "x")->scale(), 8.0f / 127);
  EXPECT_EQ(quantizer(model, "relu")->scale(), 6.0f / 127);
  ASSERT_EQ(ranges.size(), 2u);
  EXPECT_EQ(ranges[0].quantizer, "x");
  EXPECT_EQ(ranges[0].range, 8.0f);
  EXPECT_EQ(ranges[0].scale, 8.0f / 127);
  EXPECT_FALSE(ranges[0].all_zero);
  EXPECT_EQ(ranges[1].quantizer, "relu");
  EXPECT_EQ(ranges[1].range, 6.0f);
}

TEST(Calibrate, SupportsMovingAverages) {
  Model model = quantize_model(doubling());
  calibrate(model, loop({tensor({1, 3}, {4, 0, 0}), tensor({1, 3}, {8, 0, 0})}),
            {.method = Calibration::ema, .ema_rate = 0.25f});
  EXPECT_EQ(quantizer(model, "x")->scale(), 5.0f / 127);
  EXPECT_EQ(quantizer(model, "relu")->scale(), 10.0f / 127);
}

TEST(Calibrate, SupportsPercentiles) {
  Model model = quantize_model(doubling(1));
  Tensor x(Shape{1000, 1});
  for (size_t i = 0; i < 1000; ++i) {
    x.f32()[i] = static_cast<float>(i + 1) / 1000;
  }
  calibrate(model, loop({x}),
            {.method = Calibration::percentile, .percentile = 90});
  EXPECT_NEAR(*quantizer(model, "x")->scale(), 0.9f / 127, 1.0f / 2048 / 127);
  EXPECT_NEAR(*quantizer(model, "relu")->scale(), 1.8f / 127,
              2.0f / 2048 / 127);
}

TEST(Calibrate, ObservesTheFloatModel) {
  Model model = quantize_model(doubling());
  quantizer(model, "x")->set_scale(100);  // would round all values to 0
  const Tensor x = noise({4, 3});
  std::vector<uint32_t> seen;
  calibrate(
      model,
      [&](const Model& m) {
        const NoGradGuard no_grad;
        seen = bits(m(Variable(x)));
      },
      kMax);
  EXPECT_EQ(seen, bits(doubling().predict(x)));
}

TEST(Calibrate, RestoresSwitches) {
  Model model = prepared();
  calibrate(model, loop({noise({4, 3})}), kMax);
  EXPECT_EQ(switches(model), switches(prepared()));
  for (const auto& q : quantizers(model)) EXPECT_FALSE(q->observing());
  EXPECT_NE(scales(model), scales(prepared()));
}

TEST(Calibrate, ObservesASharedTensorOnce) {
  const SymbolicTensor x = input({3}, "x");
  const Model model({x}, {Dense({.units = 2, .name = "a"})(x),
                          Dense({.units = 2, .name = "b"})(x)});
  Model quantized = quantize_model(model);
  const auto run = [](const Model& m) {
    const NoGradGuard no_grad;
    for (const float value : {4.0f, 8.0f}) {
      const Variable data(Tensor::full({1, 3}, value));
      (void)m(std::span(&data, 1));
    }
  };
  const auto ranges =
      calibrate(quantized, run, {.method = Calibration::ema, .ema_rate = 0.5f});
  ASSERT_EQ(ranges.size(), 1u);
  EXPECT_EQ(ranges[0].range, 6.0f);  // 7 if observed twice
}

TEST(Calibrate, ForgetsAnEarlierCalibration) {
  Model model = quantize_model(doubling());
  calibrate(model, loop({Tensor::full({1, 3}, 100)}), kMax);
  calibrate(model, loop({Tensor::full({1, 3}, 1)}), kMax);
  EXPECT_EQ(quantizer(model, "x")->scale(), 1.0f / 127);
}

TEST(Calibrate, CalibratesFixedWeights) {
  QuantizeOptions options;
  options.weight = {.narrow_range = true};
  Model model = quantize_model(doubling(), options);
  ASSERT_NO_THROW(calibrate(model, loop({noise({4, 3})}), kMax));
  EXPECT_EQ(quantizer(model, "first/kernel")->scale(), 2.0f / 127);
  EXPECT_EQ(quantizer(model, "second/kernel")->scale(), 1.0f / 127);
}

TEST(Calibrate, LeavesLiveQuantizersAlone) {
  Model model = quantize_model(doubling());
  for (const auto& range : calibrate(model, loop({noise({4, 3})}), kMax)) {
    EXPECT_EQ(quantizer(model, range.quantizer)->config().rule,
              ScaleRule::fixed);
  }
}

TEST(Calibrate, RestoresTheModelIfTheLoopThrows) {
  Model model = prepared();
  EXPECT_THROW(calibrate(
                   model,
                   [](const Model& m) {
                     loop({noise({4, 3})})(m);
                     throw std::runtime_error("interrupted");
                   },
                   kMax),
               std::runtime_error);
  expect_as_prepared(model);
}

TEST(Calibrate, RestoresTheModelIfDataHaveNan) {
  Model model = prepared();
  const Failure failure = failure_of<ValueError>([&] {
    calibrate(model, loop({noise({4, 3}), tensor({1, 3}, {1, kNan, 2})}), kMax);
  });
  EXPECT_EQ(failure_of<ValueError>([&] {
              calibrate(model, loop({tensor({1, 3}, {1, kNan, 2})}), kMax);
            }),
            (Failure{"not_finite", "calibration"}));
  EXPECT_THAT(
      failure.context,
      ElementsAre("in quantizer 'x'", StartsWith("in layer 'quant_first'")));
  expect_as_prepared(model);
}

TEST(Calibrate, NamesTheQuantizerWhoseActivationOverflows) {
  Model model = prepared();
  const float large = std::numeric_limits<float>::max();
  EXPECT_THAT(failure_of<ValueError>([&] {
                calibrate(model, loop({tensor({1, 3}, {large, 0, 0})}), kMax);
              }).context,
              Contains("in quantizer 'relu'"));
  expect_as_prepared(model);
}

TEST(Calibrate, NamesAQuantizerWithoutData) {
  Model model = prepared();
  EXPECT_EQ(failure_of<ValueError>([&] {
              calibrate(
                  model, [](const Model&) {}, kMax);
            }),
            (Failure{"invalid_state", "quantizer 'x'"}));
  expect_as_prepared(model);
}

TEST(Calibrate, RefusesAFloatModel) {
  Model model = quickstart();
  EXPECT_EQ(failure_of<ValueError>([&] {
              calibrate(
                  model, [](const Model&) {}, kMax);
            }),
            (Failure{"not_quantized", "calibrate"}));
}

TEST(Calibrate, RefusesOptionsOutOfRangeAndChangesNothing) {
  Model model = prepared();
  const auto run = loop({noise({4, 3})});
  for (const float bad : {0.0f, -1.0f, 100.5f, kNan}) {
    EXPECT_THROW(
        calibrate(model, run,
                  {.method = Calibration::percentile, .percentile = bad}),
        ValueError);
    EXPECT_THROW(
        calibrate(model, run, {.method = Calibration::ema, .ema_rate = bad}),
        ValueError);
  }
  const Dataset data = samples(4, {3});
  for (const int64_t size : {int64_t{0}, int64_t{-1}}) {
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { calibrate(model, data, {.batch_size = size}); }),
              (Failure{"out_of_range", "calibrate"}));
  }
  expect_as_prepared(model);
}

TEST(Calibrate, WarnsOfAnAllZeroTensorAndSetsItsScaleToOne) {
  const WarningCapture warnings;
  Model model = quantize_model(doubling());
  // ReLU drops all its values.
  const auto ranges = calibrate(model, loop({Tensor::full({2, 3}, -1)}), kMax);
  EXPECT_EQ(quantizer(model, "x")->scale(), 1.0f / 127);
  EXPECT_EQ(quantizer(model, "relu")->scale(), 1.0f);
  EXPECT_TRUE(ranges[1].all_zero);
  EXPECT_EQ(ranges[1].range, 0.0f);
  EXPECT_EQ(ranges[1].scale, 1.0f);
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"zero_range", "quantizer 'relu'"}));
}

TEST(Calibrate, WarnsOfNothingOtherwise) {
  const WarningCapture warnings;
  Model model = quantize_model(doubling());
  calibrate(model, loop({noise({4, 3})}), kMax);
  EXPECT_THAT(warnings.messages, IsEmpty());
}

TEST(CalibrateOnData, EqualsTheLoopOverItsBatches) {
  const Dataset data = samples(10, {8, 6, 1});
  for (const auto method :
       {Calibration::max, Calibration::ema, Calibration::percentile}) {
    CalibrationOptions options{.method = method};
    options.ema_rate = 0.3f;
    options.percentile = 99;
    options.batch_size = 4;
    Model brief = quantize_model(quickstart());
    Model looped = quantize_model(quickstart());
    const auto a = calibrate(brief, data, options);
    const auto b = calibrate(
        looped,
        [&](const Model& m) {
          const NoGradGuard no_grad;
          (void)m(Variable(data.batch(0, 4).input()));
          (void)m(Variable(data.batch(4, 4).input()));
          (void)m(Variable(data.batch(8, 2).input()));
        },
        options);
    EXPECT_EQ(scales(brief), scales(looped));
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].quantizer, b[i].quantizer);
      EXPECT_EQ(a[i].range, b[i].range);
    }
  }
}

TEST(CalibrateOnData, ObservesEverySampleForAnyBatchSize) {
  const Dataset data = samples(10, {3});
  Model whole = quantize_model(doubling());
  calibrate(whole, data, {.method = Calibration::max, .batch_size = 10});
  for (const int64_t size : {int64_t{1}, int64_t{3}, int64_t{1000},
                             std::numeric_limits<int64_t>::max()}) {
    Model model = quantize_model(doubling());
    calibrate(model, data, {.method = Calibration::max, .batch_size = size});
    EXPECT_EQ(scales(model), scales(whole)) << size;
  }
}

TEST(CalibrateOnData, LeavesWeightsAndStatisticsUnchanged) {
  Model model = quantize_model(quickstart());
  const auto before = weight_bits(model);
  calibrate(model, samples(10, {8, 6, 1}));
  EXPECT_EQ(weight_bits(model), before);
}

TEST(CalibrateOnData, IsIndependentOfTheNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto run = [](int threads) {
    set_num_threads(threads);
    Model model = quantize_model(quickstart());
    calibrate(model, samples(20, {8, 6, 1}));
    return scales(model);
  };
  EXPECT_EQ(run(2), run(1));
}

TEST(CalibrateOnData, RefusesDataOfAnotherShape) {
  Model model = prepared();
  EXPECT_THROW(calibrate(model, samples(4, {5})), ValueError);
  expect_as_prepared(model);
}

// predict() runs chunks of eight on all threads; calibration must observe them
// in order.
TEST(Calibrate, AllowsPredictInItsLoop) {
  const Tensor x = noise({400, 8, 6, 1});
  Model looped = quantize_model(quickstart());
  calibrate(looped, [&](const Model& m) { (void)m.predict(x); });
  Model plain = quantize_model(quickstart());
  CalibrationOptions options;
  options.batch_size = 8;
  calibrate(plain, Dataset(x, Tensor::zeros({400}, DType::i64)), options);
  EXPECT_EQ(scales(looped), scales(plain));
}

TEST(Calibrate, SetsPerChannelScalesOfFixedWeights) {
  Model model = quantize_model(
      quickstart(), {.policy = Policy::toolkit,
                     .weight = {.narrow_range = true, .per_channel = true}});
  EXPECT_EQ(failure_of<ValueError>([&] { prepare_qat(model); }),
            (Failure{"not_calibrated", "prepare_qat"}));
  calibrate(model, samples(40, {8, 6, 1}));
  const Tensor kernel =
      model.layer("quant_dense").parameter("kernel").variable.value();
  const auto live = Quantizer("w", weight_quantizer()).qparams(kernel, -1);
  EXPECT_THAT(quantizer(model, "dense/kernel")->scales(),
              ::testing::ElementsAreArray(values(live.scale)));
  EXPECT_NO_THROW(prepare_qat(model));
}

}  // namespace
}  // namespace octet::quant
