#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/train/train.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Each;

// Functions that modify a model accept neither const models nor temporaries.
template <class M>
concept Changeable = requires(M&& m, const Dataset& data) {
  calibrate(std::forward<M>(m), data);
}
|| requires(M&& m) { prepare_qat(std::forward<M>(m)); }
|| requires(M&& m) { enable_fake_quant(std::forward<M>(m)); }
|| requires(M&& m) { disable_fake_quant(std::forward<M>(m)); }
|| requires(M&& m) { freeze_bn_stats(std::forward<M>(m)); }
|| requires(M&& m, const Model& from) {
  copy_weights(from, std::forward<M>(m));
};
static_assert(Changeable<Model&>);
static_assert(!Changeable<const Model&> && !Changeable<Model>);

TEST(PrepareQat, EnablesEveryQuantizer) {
  Model model = calibrated_quickstart();
  disable_fake_quant(model);
  const auto before = scales(model);
  prepare_qat(model);
  EXPECT_THAT(switches(model), Each(true));
  EXPECT_EQ(scales(model), before);
}

TEST(PrepareQat, EndsObserving) {
  Model model = calibrated_quickstart();
  const auto before = scales(model);
  quantizer(model, "image")->start_observing({});
  prepare_qat(model);
  for (const auto& q : quantizers(model)) EXPECT_FALSE(q->observing());
  EXPECT_EQ(scales(model), before);
}

TEST(PrepareQat, RefusesAModelThatIsNotCalibrated) {
  Model model = quantize_model(quickstart());
  quantizer(model, "image")->set_scale(1);
  disable_fake_quant(model);
  EXPECT_EQ(failure_of<ValueError>([&] { prepare_qat(model); }),
            (Failure{"not_calibrated", "prepare_qat"}));
  EXPECT_THAT(switches(model), Each(false));
}

TEST(PrepareQat, RefusesAFloatModel) {
  Model plain = quickstart();
  EXPECT_EQ(failure_of<ValueError>([&] { prepare_qat(plain); }),
            (Failure{"not_quantized", "prepare_qat"}));
}

TEST(PrepareQat, AcceptsAScaleSetByHand) {
  Model model = quantize_model(quickstart());
  quantizer(model, "image")->set_scale(0.01f);
  quantizer(model, "flatten")->set_scale(0.02f);
  EXPECT_NO_THROW(prepare_qat(model));
}

TEST(FakeQuantSwitch, ChangesPredictionsAndBack) {
  Model model = calibrated_quickstart();
  const Tensor x = noise({9, 8, 6, 1});
  const auto real = bits(quickstart().predict(x));
  const auto rounded = bits(model.predict(x));
  EXPECT_NE(rounded, real);
  const auto before = scales(model);
  disable_fake_quant(model);
  EXPECT_EQ(bits(model.predict(x)), real);
  enable_fake_quant(model);
  EXPECT_EQ(bits(model.predict(x)), rounded);
  EXPECT_EQ(scales(model), before);
}

TEST(FakeQuantSwitch, DoesNothingToAFloatModel) {
  Model model = quickstart();
  EXPECT_NO_THROW(disable_fake_quant(model));
  EXPECT_NO_THROW(enable_fake_quant(model));
}

std::vector<uint32_t> moving_mean(const Model& model, const char* name) {
  return bits(model.layer(name).parameter("moving_mean").variable);
}

TEST(FreezeBnStats, FreezesAndReleasesBatchNormalization) {
  Model model = quickstart();
  const auto before = moving_mean(model, "batch_normalization");
  const Variable x(noise({9, 8, 6, 1}));
  freeze_bn_stats(model);
  (void)model(x, Mode::training).value();
  EXPECT_EQ(moving_mean(model, "batch_normalization"), before);
  EXPECT_EQ(bits(model(x, Mode::training)), bits(model(x)));
  freeze_bn_stats(model, false);
  (void)model(x, Mode::training).value();
  EXPECT_NE(moving_mean(model, "batch_normalization"), before);
}

TEST(FreezeBnStats, FreezesBatchNormalizationInAWrapper) {
  const Model model = quickstart();
  Model quantized = apply(plan_by_hand("batch_normalization", "conv2d"), model);
  disable_fake_quant(quantized);  // not calibrated
  const auto before = moving_mean(quantized, "quant_batch_normalization");
  freeze_bn_stats(quantized);
  const Variable x(noise({9, 8, 6, 1}));
  (void)quantized(x, Mode::training).value();
  EXPECT_EQ(moving_mean(quantized, "quant_batch_normalization"), before);
  freeze_bn_stats(quantized, false);
  (void)quantized(x, Mode::training).value();
  EXPECT_NE(moving_mean(quantized, "quant_batch_normalization"), before);
}

TEST(FreezeBnStats, SurvivesQuantization) {
  Model model = quickstart();
  freeze_bn_stats(model);
  Model quantized = quantize_model(model);
  disable_fake_quant(quantized);  // not calibrated
  const auto before = moving_mean(quantized, "batch_normalization");
  (void)quantized(Variable(noise({9, 8, 6, 1})), Mode::training).value();
  EXPECT_EQ(moving_mean(quantized, "batch_normalization"), before);
}

/// Two epochs of fine-tuning.
train::History tune(Model& model, const Dataset& data) {
  prepare_qat(model);
  train::FitOptions options;
  options.epochs = 2;
  options.batch_size = 16;
  options.optimizer = train::SGD({.learning_rate = 0.01f, .momentum = 0.9f});
  return train::fit(model, data, options);
}

TEST(Qat, MovesWeightsAndKeepsScales) {
  Model model = calibrated_quickstart();
  const auto weights =
      bits(model.layer("quant_conv2d").parameters()[0].variable);
  const auto fixed = scales(model);
  const auto history = tune(model, samples(48, {8, 6, 1}));
  EXPECT_EQ(scales(model), fixed);
  EXPECT_NE(bits(model.layer("quant_conv2d").parameters()[0].variable),
            weights);
  EXPECT_TRUE(std::isfinite(history.back().loss));
  EXPECT_LT(history.back().loss, history.front().loss);
}

/// Records the model's output for the data at the end of its best epoch.
class BestOutputs final : public train::Callback {
 public:
  explicit BestOutputs(const Dataset& data) : data_(data) {}
  void on_epoch_end(const train::Progress& progress) override {
    if (progress.validation->loss >= least_) return;
    least_ = progress.validation->loss;
    outputs = bits(train::predict(progress.training->model(), data_));
  }

  std::vector<uint32_t> outputs;

 private:
  const Dataset& data_;
  double least_ = std::numeric_limits<double>::infinity();
};

TEST(Qat, EndsWithTheBestEpochIfRestored) {
  Model model = calibrated_quickstart();
  model.layer("quant_dense").set_trainable(false);
  prepare_qat(model);
  const Dataset data = samples(48, {8, 6, 1});
  const auto dense = bits(model.layer("quant_dense").parameters()[0].variable);
  const auto best = std::make_shared<BestOutputs>(data);
  // The rate is too high: the last epoch is not the best.
  const auto history = train::fit(
      model, data,
      {.epochs = 4,
       .batch_size = 16,
       .optimizer = train::SGD({.learning_rate = 0.5f, .momentum = 0.9f}),
       .validation = &data,
       .callbacks = {best,
                     train::early_stopping(
                         {.patience = 9, .restore_best_weights = true})}});
  double least = history[0].validation[0].loss;
  for (const auto& epoch : history) {
    least = std::min(least, epoch.validation[0].loss);
  }
  ASSERT_NE(history.back().validation[0].loss, least);
  EXPECT_EQ(train::evaluate(model, data).loss, least);
  EXPECT_EQ(bits(train::predict(model, data)), best->outputs);
  EXPECT_EQ(bits(model.layer("quant_dense").parameters()[0].variable), dense);
}

TEST(Qat, MovesWeightsOffQuantizedValues) {
  // Float weights are trained; only the layer's inputs are rounded.
  Model model = calibrated_quickstart();
  tune(model, samples(48, {8, 6, 1}));
  const Tensor kernel =
      model.layer("quant_dense").parameter("kernel").variable.value();
  const QuantParams qparams =
      quantizer(model, "dense/kernel")->qparams(kernel, -1);
  EXPECT_NE(values(dequantize(quantize(kernel, qparams), qparams)),
            values(kernel));
}

TEST(Qat, LeavesTheFloatModelUnchanged) {
  const Model real = quickstart();
  const auto before = weight_bits(real);
  Model model = quantize_model(real);
  const Dataset data = samples(48, {8, 6, 1});
  calibrate(model, data);
  tune(model, data);
  EXPECT_EQ(weight_bits(real), before);
  EXPECT_NE(weight_bits(model), before);
}

TEST(Qat, IsIndependentOfTheNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto run = [](int threads) {
    set_num_threads(threads);
    Model model = calibrated_quickstart();
    tune(model, samples(48, {8, 6, 1}));
    return weight_bits(model);
  };
  EXPECT_EQ(run(2), run(1));
}

TEST(Qat, KeepsFrozenStatistics) {
  Model model = calibrated_quickstart();
  const auto before = moving_mean(model, "batch_normalization");
  freeze_bn_stats(model);
  tune(model, samples(48, {8, 6, 1}));
  EXPECT_EQ(moving_mean(model, "batch_normalization"), before);
}

}  // namespace
}  // namespace octet::quant
