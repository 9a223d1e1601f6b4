// Averages of weights over steps and of statistics over batches; learning rate
// search.
#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

/// Records a parameter after each batch.
class Watcher final : public Callback {
 public:
  explicit Watcher(std::vector<float>& values) : values_(values) {}
  void on_step(const Progress& progress) override {
    values_.push_back(progress.training->model()
                          .layer("logits")
                          .parameter("kernel")
                          .variable.value()
                          .f32()[0]);
  }

 private:
  std::vector<float>& values_;
};

TEST(MovingAverage, AveragesOverStepsAndIsAssignedAtTheEnd) {
  Model model = image_network();
  const Variable kernel = model.layer("logits").parameter("kernel").variable;
  float average = kernel.value().f32()[0];
  std::vector<float> values;
  fit(model, images(32, 1),
      {.epochs = 2,
       .batch_size = 8,
       .callbacks = {std::make_shared<Watcher>(values),
                     exponential_moving_average({.decay = 0.75f})}});
  ASSERT_EQ(values.size(), 8u);
  for (const float value : values) average = 0.75f * average + 0.25f * value;
  EXPECT_EQ(kernel.value().f32()[0], average);
  EXPECT_NE(average, values.back());
}

TEST(MovingAverage, CountsOptimizerStepsNotBatches) {
  Model model = image_network();
  const Variable kernel = model.layer("logits").parameter("kernel").variable;
  float average = kernel.value().f32()[0];
  std::vector<float> values;
  fit(model, images(32, 1),
      {.batch_size = 8,
       .callbacks = {std::make_shared<Watcher>(values),
                     exponential_moving_average({.decay = 0.5f})},
       .accumulate = 2});
  ASSERT_EQ(values.size(), 4u);
  for (const size_t i : {1u, 3u}) average = 0.5f * average + 0.5f * values[i];
  EXPECT_EQ(kernel.value().f32()[0], average);
}

// Batches that only accumulate gradients are not steps: with two batches per
// step the state is in the middle of an epoch.
TEST(MovingAverage, ResumesFromACheckpoint) {
  class Ended {};
  class Stopper final : public Callback {
    void on_step(const Progress& progress) override {
      if (progress.epoch == 1 && progress.step == 3) throw Ended();
    }
  };
  for (const int64_t accumulate : {1, 2}) {
    SCOPED_TRACE(accumulate);
    const auto options = [&] {
      return FitOptions{.epochs = 2,
                        .batch_size = 8,
                        .callbacks = {exponential_moving_average()},
                        .accumulate = accumulate};
    };
    Model expected = image_network();
    fit(expected, images(48, 1), options());
    const auto place = std::make_shared<MemoryCheckpoints>(1);
    Model model = image_network();
    FitOptions first = options();
    first.callbacks.push_back(std::make_shared<Stopper>());
    first.checkpoints = place;
    EXPECT_THROW(fit(model, images(48, 1), first), Ended);
    FitOptions second = options();
    second.checkpoints = place;
    second.resume = true;
    Model later = image_network();
    fit(later, images(48, 1), second);
    EXPECT_EQ(weights_of(later), weights_of(expected));
  }
}

TEST(MovingAverage, RejectsAnotherCallbackThatSetsFinalWeights) {
  Model model = image_network();
  const Dataset validation = images(16, 2);
  EXPECT_THROW(
      fit(model, images(32, 1),
          {.validation = &validation,
           .callbacks = {exponential_moving_average(),
                         early_stopping({.restore_best_weights = true})}}),
      ValueError);
  EXPECT_NO_THROW(fit(model, images(32, 1),
                      {.validation = &validation,
                       .callbacks = {exponential_moving_average(),
                                     early_stopping({.patience = 3})}}));
}

TEST(MovingAverage, RejectsADecayOutOfRange) {
  for (const float decay : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_THROW(exponential_moving_average({.decay = decay}), ValueError);
  }
}

/// Returns mean and variance of the layer "norm".
std::vector<float> statistics(const Model& model) {
  std::vector<float> result;
  for (const char* name : {"moving_mean", "moving_variance"}) {
    const Tensor value = model.layer("norm").parameter(name).variable.value();
    result.insert(result.end(), value.f32().begin(), value.f32().end());
  }
  return result;
}

TEST(BatchStatistics, AreAveragesOverBatches) {
  const auto x = input({3}, "x");
  Model model(x, BatchNormalization({.name = "norm"})(x));
  Tensor samples = noise({10, 3}, 4);
  for (size_t i = 0; i < 30; ++i) samples.f32()[i] += static_cast<float>(i % 3);
  const Dataset data(samples, Tensor::zeros({10}, DType::i64));
  // A single batch: its own statistics, with the variance of
  // batch_norm_training.
  EXPECT_EQ(update_batch_statistics(model, data, {.batch_size = 10}), 1);
  const std::vector<float> got = statistics(model);
  for (size_t c = 0; c < 3; ++c) {
    double mean = 0;
    double square = 0;
    for (size_t i = 0; i < 10; ++i) mean += samples.f32()[3 * i + c] / 10;
    for (size_t i = 0; i < 10; ++i) {
      square += std::pow(samples.f32()[3 * i + c] - mean, 2) / 10;
    }
    EXPECT_NEAR(got[c], mean, 1e-6);
    EXPECT_NEAR(got[3 + c], square, 1e-5);
  }
  // The mean over all samples does not depend on the batch size or on earlier
  // statistics.
  model.layer("norm")
      .parameter("moving_mean")
      .variable.assign(Tensor::full({3}, 100));
  EXPECT_EQ(update_batch_statistics(model, data, {.batch_size = 4}), 1);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(statistics(model)[c], got[c], 1e-5);
  }
}

TEST(BatchStatistics, ChangeNothingElse) {
  Model model = image_network();
  const uint64_t passes = model.training_passes();
  const auto bits_of = [&](const char* layer, const char* name) {
    return bits(model.layer(layer).parameter(name).variable);
  };
  const auto kernel = bits_of("conv", "kernel");
  const std::vector<float> before = statistics(model);
  EXPECT_EQ(update_batch_statistics(model, images(20, 1)), 1);
  EXPECT_NE(statistics(model), before);
  EXPECT_EQ(bits_of("conv", "kernel"), kernel);
  EXPECT_EQ(model.training_passes(), passes);
  // The layer uses its momentum again: a pass moves the statistics by a tenth
  // of the distance to those of its batch.
  const std::vector<float> average = statistics(model);
  const Dataset other = images(20, 2);
  (void)model(Variable(other.batch(0, 20).input()), Mode::training).value();
  const std::vector<float> moved = statistics(model);
  update_batch_statistics(model, other);
  const std::vector<float> of_other = statistics(model);
  for (size_t i = 0; i < moved.size(); ++i) {
    EXPECT_NEAR(moved[i], 0.9 * average[i] + 0.1 * of_other[i], 1e-6);
    EXPECT_NE(moved[i], average[i]);
  }
}

// The lag is the momentum 0.9 to the power of the steps. Statistics that are
// not at their initial value are not checked.
TEST(BatchStatistics, WarnAfterFewSteps) {
  const auto warnings_of = [](Model& model, int64_t epochs) {
    const WarningCapture warnings;
    fit(model, images(32, 1), {.epochs = epochs, .batch_size = 8});
    return warnings.messages;
  };
  Model few = image_network();
  const std::vector<Failure> warnings = warnings_of(few, 2);
  EXPECT_THAT(warnings, ElementsAre(Failure{"initial_statistics", "fit"}));
  // Percent of the initial values after 8 steps.
  EXPECT_THAT(numbers_in(warnings.at(0).message), IsSupersetOf({43, 8}));
  EXPECT_THAT(warnings_of(few, 2), IsEmpty());
  Model enough = image_network();
  EXPECT_THAT(warnings_of(enough, 6), IsEmpty());
  Model frozen = image_network();
  quant::freeze_bn_stats(frozen);
  EXPECT_THAT(warnings_of(frozen, 2), IsEmpty());
}

TEST(BatchStatistics, WarnForAveragedWeights) {
  const auto warnings_of = [](Model& model, bool renews) {
    const WarningCapture warnings;
    fit(model, images(32, 1),
        {.epochs = 6,
         .batch_size = 8,
         .callbacks = {exponential_moving_average()},
         .update_statistics_later = renews});
    return warnings.messages;
  };
  Model model = image_network();
  EXPECT_THAT(warnings_of(model, false),
              ElementsAre(Failure{"stale_statistics", "fit"}));
  EXPECT_THAT(warnings_of(model, true), IsEmpty());
  quant::freeze_bn_stats(model);
  EXPECT_THAT(warnings_of(model, false), IsEmpty());
}

TEST(BatchStatistics, DoNotWarnIfRenewed) {
  Model model = image_network();
  const WarningCapture warnings;
  fit(model, images(32, 1),
      {.epochs = 1, .batch_size = 8, .update_statistics_later = true});
  EXPECT_THAT(warnings.messages, IsEmpty());
}

TEST(BatchStatistics, AverageEachCallOfALayer) {
  const auto x = input({1}, "x");
  const BatchNormalization norm({.name = "norm"});
  const auto ten = Rescaling({.scale = {10}})(x);
  Model model(x, Add()({norm(x), norm(ten)}));
  Tensor samples(Shape{8, 1});
  for (size_t i = 0; i < 8; ++i) samples.f32()[i] = static_cast<float>(i);
  const Dataset data(samples, Tensor::zeros({8}, DType::i64));
  for (const int64_t batch_size : {8, 4, 2}) {
    update_batch_statistics(model, data, {.batch_size = batch_size});
    // Means of 0 to 7 and of 0, 10, ... 70.
    EXPECT_NEAR(statistics(model)[0], (3.5 + 35) / 2, 1e-4) << batch_size;
  }
}

TEST(BatchStatistics, AreUnchangedAfterAnErrorOfTheData) {
  Model model = image_network();
  const std::vector<float> before = statistics(model);
  int calls = 0;
  const Dataset failing = images(32, 1).map([&](Batch batch) {
    if (++calls == 4)
      throw IoError("cannot_read", "samples", "the disk is gone");
    return batch;
  });
  EXPECT_THROW(update_batch_statistics(model, failing, {.batch_size = 8}),
               IoError);
  EXPECT_EQ(statistics(model), before);
  const Dataset infinite = images(32, 1).map([](Batch batch) {
    batch.input().f32()[0] = std::numeric_limits<float>::infinity();
    return batch;
  });
  EXPECT_THROW(update_batch_statistics(model, infinite, {.batch_size = 8}),
               ValueError);
  EXPECT_EQ(statistics(model), before);
}

TEST(BatchStatistics, SkipFrozenLayers) {
  Model model = image_network();
  quant::freeze_bn_stats(model);
  const std::vector<float> before = statistics(model);
  EXPECT_EQ(update_batch_statistics(model, images(20, 1)), 0);
  EXPECT_EQ(statistics(model), before);
  EXPECT_THROW(update_batch_statistics(model, images(20, 1), {.samples = -1}),
               ValueError);
}

TEST(BatchStatistics, UpdateWrappedLayersOfAQuantizedModel) {
  Model model = image_network();
  Model q = quant::quantize_model(model);
  EXPECT_THROW(update_batch_statistics(q, images(20, 1)), ValueError);
  fit(model, images(20, 1));
  Model calibrated = quant::quantize_model(model);
  quant::calibrate(calibrated, images(20, 1));
  EXPECT_EQ(update_batch_statistics(calibrated, images(20, 1)), 1);
}

TEST(FindLearningRate, SuggestsARateThatTrains) {
  const Model model = small_network();
  const auto before = weights_of(model);
  const LearningRateCurve curve =
      find_learning_rate(model, blobs(200), {.steps = 60, .batch_size = 20});
  EXPECT_EQ(weights_of(model), before);
  ASSERT_EQ(curve.rates.size(), curve.losses.size());
  ASSERT_GE(curve.rates.size(), 20u);
  EXPECT_FLOAT_EQ(curve.rates[0], 1e-6f);
  // Rates grow by a constant factor, also across epochs.
  const double factor = std::pow(1e6, 1.0 / 59);
  for (size_t i = 1; i < curve.rates.size(); ++i) {
    EXPECT_NEAR(curve.rates[i] / curve.rates[i - 1], factor, 1e-4);
  }
  Model trained = small_network();
  const History history =
      fit(trained, blobs(200),
          {.epochs = 2,
           .batch_size = 20,
           .optimizer = Adam({.learning_rate = curve.suggestion})});
  EXPECT_LT(history.back().loss, 0.5 * curve.losses[0]);
}

// Copies of an optimizer share state, so the caller's must not be used.
TEST(FindLearningRate, DoesNotChangeTheOptimizer) {
  Model model = small_network();
  Adam adam({.learning_rate = 1e-3f});
  adam.attach(model.trainable_variables());
  (void)find_learning_rate(model, blobs(200), {.optimizer = adam});
  EXPECT_EQ(adam.learning_rate(), 1e-3f);
  EXPECT_EQ(adam.steps(), 0);
  const auto before = weights_of(model);
  const Batch batch = blobs(20).batch(0, 20);
  adam.minimize(losses::sparse_categorical_cross_entropy()(
      model(Variable(batch.input()), Mode::training), batch));
  EXPECT_NE(weights_of(model), before);
}

TEST(FindLearningRate, PropagatesErrorsOfTheLoss) {
  int calls = 0;
  const Dataset failing = blobs(200).map([&](Batch batch) {
    if (++calls == 9)
      throw ValueError("malformed_file", "my_map", "not a file");
    return batch;
  });
  EXPECT_THROW(
      (void)find_learning_rate(small_network(), failing, {.batch_size = 20}),
      ValueError);
}

TEST(FindLearningRate, ThrowsIfTheLossDoesNotFall) {
  const Loss constant("constant", [](const Variable& y, const Batch&) {
    return 0.0f * mean(y, {1}) + 2;
  });
  EXPECT_THROW(
      (void)find_learning_rate(small_network(), blobs(200), {.loss = constant}),
      ValueError);
  // A negative loss may fall, too.
  const Loss negative("negative", [](const Variable& y, const Batch&) {
    return -1 * mean(tanh(y), {1}) - 5;
  });
  const LearningRateCurve curve =
      find_learning_rate(small_network(), blobs(200), {.loss = negative});
  EXPECT_GT(curve.rates.size(), 50u);
}

TEST(FindLearningRate, StopsWhenTheLossRises) {
  const LearningRateCurve curve =
      find_learning_rate(image_network(), images(200, 1),
                         {.from = 1e-3f, .to = 1e30f, .optimizer = SGD()});
  EXPECT_LT(curve.rates.size(), 100u);
  EXPECT_LT(curve.suggestion, curve.rates.back());
}

TEST(FindLearningRate, RejectsOptionsOutOfRange) {
  const Model model = image_network();
  const Dataset data = images(20, 1);
  for (const FindLearningRateOptions& options :
       {FindLearningRateOptions{.from = 0},
        {.from = 1},
        {.steps = 1},
        {.batch_size = 0}}) {
    EXPECT_THROW((void)find_learning_rate(model, data, options), ValueError);
  }
}

}  // namespace
}  // namespace octet::train
