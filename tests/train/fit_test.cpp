#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/fit.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Returns the bits of all weights.
std::vector<uint32_t> bits_of(const Model& model) {
  std::vector<uint32_t> bits;
  for (const auto& layer : model.layers()) {
    for (const Parameter& parameter : layer->parameters()) {
      for (const float x : parameter.variable.value().f32()) {
        std::memcpy(&bits.emplace_back(), &x, sizeof(x));
      }
    }
  }
  return bits;
}

// A temporary model would be discarded after training.
template <class Given>
concept CanBeTrained = requires(Given&& model, const Dataset& data) {
  fit(std::forward<Given>(model), data);
};
static_assert(CanBeTrained<Model&>);
static_assert(!CanBeTrained<const Model&>);
static_assert(!CanBeTrained<Model>);

/// Returns the error of fit, with its context.
Failure fit_failure(Model& model, const Dataset& data,
                    const FitOptions& options = {}) {
  return failure_of<ValueError>([&] { fit(model, data, options); });
}

/// Expects a loss that is not finite, with its `cause` in the message.
void expect_bad_loss(const Failure& failure, const std::string& cause) {
  EXPECT_EQ(failure, (Failure{"not_finite", "loss"}));
  EXPECT_THAT(failure.message, HasSubstr(cause));
}

class Recorder final : public Callback {
 public:
  void on_step(const Progress& progress) override { steps.push_back(progress); }
  void on_epoch_end(const Progress& progress) override {
    epochs.push_back(progress);
    if (progress.validation != nullptr) {
      validations.push_back(*progress.validation);
    }
  }
  std::vector<Progress> steps;
  std::vector<Progress> epochs;
  std::vector<Evaluation> validations;
};

TEST(Fit, LearnsToSeparateTwoClusters) {
  const Dataset data = blobs(200);
  const Dataset unseen = blobs(200, 2);
  Model model = small_network();
  const History history = fit(model, data,
                              {.epochs = 5,
                               .batch_size = 16,
                               .optimizer = Adam({.learning_rate = 0.02f}),
                               .validation = &unseen});
  ASSERT_EQ(history.size(), 5u);
  EXPECT_LT(history.back().loss, history.front().loss);
  EXPECT_EQ(history.back().accuracy, 1.0);
  ASSERT_EQ(history.back().validation.size(), 1u);
  EXPECT_EQ(history.back().validation[0].accuracy, 1.0);
  EXPECT_EQ(evaluate(model, unseen).loss, history.back().validation[0].loss);
}

TEST(Fit, LearnsWithMomentum) {
  const Dataset data = blobs(200);
  Model model = small_network();
  fit(model, data,
      {.epochs = 3,
       .batch_size = 16,
       .optimizer = SGD({.learning_rate = 0.05f, .momentum = 0.9f}),
       .schedule = cosine()});
  EXPECT_EQ(evaluate(model, data).accuracy, 1.0);
}

TEST(Fit, IsBitIdenticalForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto train = [](int threads) {
    set_num_threads(threads);
    Model model = small_network(3);
    fit(model, blobs(100), {.epochs = 2, .batch_size = 32, .seed = 9});
    return bits_of(model);
  };
  const auto one = train(1);
  EXPECT_EQ(train(2), one);
  EXPECT_EQ(train(1), one);
}

TEST(Fit, ShufflesByItsSeed) {
  const auto train = [](uint64_t seed) {
    Model model = small_network(3);
    FitOptions options;
    options.batch_size = 10;
    options.seed = seed;
    fit(model, blobs(100), options);
    return bits_of(model);
  };
  EXPECT_NE(train(1), train(2));
}

TEST(Fit, ResetsAUsedOptimizer) {
  FitOptions options;
  options.seed = 4;
  const auto train = [&options] {
    Model model = small_network(3);
    fit(model, blobs(100), options);
    return bits_of(model);
  };
  EXPECT_EQ(train(), train());
}

TEST(Fit, ReportsProgressToCallbacks) {
  const auto recorder = std::make_shared<Recorder>();
  const Dataset data = blobs(10);
  Model model = small_network();
  const History history = fit(model, data,
                              {.epochs = 2,
                               .batch_size = 4,
                               .optimizer = SGD({.learning_rate = 0.5f}),
                               .schedule = cosine(),
                               .validation = &data,
                               .callbacks = {recorder}});
  ASSERT_EQ(recorder->steps.size(), 6u);
  const std::vector<int64_t> samples = {4, 8, 10, 4, 8, 10};
  for (size_t i = 0; i < 6; ++i) {
    const Progress& progress = recorder->steps[i];
    EXPECT_EQ(progress.epoch, static_cast<int64_t>(i / 3));
    EXPECT_EQ(progress.epochs, 2);
    EXPECT_EQ(progress.step, static_cast<int64_t>(i % 3 + 1));
    EXPECT_EQ(progress.steps, 3);
    EXPECT_EQ(progress.samples, samples[i]);
    EXPECT_GE(progress.seconds, 0);
    // The schedule counts the steps of the whole fit.
    EXPECT_FLOAT_EQ(static_cast<float>(progress.learning_rate),
                    0.5f * cosine()(static_cast<int64_t>(i), 6));
    EXPECT_EQ(progress.validation, nullptr);
  }
  ASSERT_EQ(recorder->epochs.size(), 2u);
  ASSERT_EQ(recorder->validations.size(), 2u);
  for (size_t epoch = 0; epoch < 2; ++epoch) {
    const Progress& progress = recorder->epochs[epoch];
    EXPECT_EQ(progress.step, 3);
    EXPECT_EQ(progress.loss, history[epoch].loss);
    EXPECT_EQ(progress.accuracy, history[epoch].accuracy);
    EXPECT_EQ(progress.learning_rate, history[epoch].learning_rate);
    EXPECT_EQ(recorder->validations[epoch].loss,
              history[epoch].validation.at(0).loss);
  }
}

TEST(Fit, ReportsTheMeanOverSamplesNotOverBatches) {
  // With a learning rate of 0, the training loss is that of the initial
  // weights.
  const Dataset data = blobs(10);
  Model model = small_network();
  const Evaluation expected = evaluate(model, data);
  const History history =
      fit(model, data,
          {.batch_size = 4, .optimizer = SGD({.learning_rate = 0.0f})});
  // The loss of a batch is rounded to f32.
  EXPECT_NEAR(history[0].loss, expected.loss, 1e-6);
  EXPECT_EQ(history[0].accuracy, expected.accuracy);
  EXPECT_TRUE(history[0].validation.empty());
}

TEST(Fit, TrainsOnASingleSample) {
  Model model = small_network();
  const History history = fit(model, blobs(1), {.epochs = 2});
  EXPECT_EQ(history.size(), 2u);
  EXPECT_LT(history[1].loss, history[0].loss);
}

TEST(Fit, NamesStepAndParameterWhenTheLossIsNan) {
  Model model = small_network();
  const Variable& kernel = model.layer("hidden").parameter("kernel").variable;
  kernel.mutable_value()[3] = kNan;
  const Failure failure = fit_failure(model, blobs(10));
  expect_bad_loss(failure, "at step 1 of epoch 1: parameter 'hidden/kernel'");
}

TEST(Fit, StopsAtTheStepAfterTheWeightsOverflow) {
  // The first gradient is about 1, so this rate overflows the weights.
  Model model = small_network();
  const SGD optimizer({.learning_rate = std::numeric_limits<float>::max()});
  EXPECT_EQ(
      fit_failure(model, blobs(64), {.batch_size = 16, .optimizer = optimizer}),
      (Failure{"not_finite", "loss"}));
}

TEST(Fit, NamesTheFirstLayerWhoseOutputIsNotFinite) {
  Model model = small_network();
  const Variable& kernel = model.layer("logits").parameter("kernel").variable;
  for (float& x : kernel.mutable_value()) {
    x = std::numeric_limits<float>::max();
  }
  model.layer("hidden").parameter("bias").variable.assign(
      Tensor::full({8}, 100.0f));
  const Failure failure = fit_failure(model, blobs(10));
  expect_bad_loss(failure, "'logits'");
}

TEST(Fit, NamesInputsThatAreNotFinite) {
  const Dataset data(Tensor::of<float>({1, 2}, {kNan, 0}),
                     Tensor::zeros({1}, DType::i64));
  Model model = small_network();
  const Failure failure = fit_failure(model, data);
  expect_bad_loss(failure, "inputs");
}

TEST(Fit, NamesLabelsAndWeightsThatAreNotFinite) {
  const SymbolicTensor x = input({2});
  Model model(x, Dense({.units = 1})(x));
  const Dataset targets(Tensor::zeros({2, 2}),
                        Tensor::of<float>({2, 1}, {kNan, 1}));
  const Failure labels =
      fit_failure(model, targets, {.loss = losses::mean_squared_error()});
  expect_bad_loss(labels, "labels");

  class Weighted final : public SampleSource {
   public:
    int64_t size() const override { return 2; }
    std::vector<TensorSpec> input_specs() const override { return {{{2}}}; }
    Batch read(std::span<const int64_t> indices) const override {
      const auto n = static_cast<int64_t>(indices.size());
      return {Tensor::zeros({n, 2}), Tensor::zeros({n}, DType::i64),
              Tensor::full({n}, kNan)};
    }
  };
  Model classes = small_network();
  const Failure weights =
      fit_failure(classes, Dataset(std::make_shared<Weighted>()));
  expect_bad_loss(weights, "weights of the batch");
}

TEST(Fit, ThrowsIfTheLastStepOverflowsTheWeights) {
  // A single step: no later loss reveals it.
  Model model = small_network();
  const Dataset data(Tensor::full({1, 2}, 1e30f),
                     Tensor::zeros({1}, DType::i64));
  model.layer("hidden").parameter("kernel").variable.assign(
      Tensor::full({2, 8}, 1e-30f));
  EXPECT_EQ(
      fit_failure(model, data, {.optimizer = SGD({.learning_rate = 1e30f})}),
      (Failure{"not_finite", "parameter 'hidden/kernel'"}));
}

TEST(Fit, AddsTheStepToErrorsOfLayersAndLosses) {
  const Loss loss("mine", [](const Variable&, const Batch&) -> Variable {
    throw ValueError("invalid_value", "mine", "too small");
  });
  Model model = small_network();
  const Failure failure = fit_failure(model, blobs(3), {.loss = loss});
  EXPECT_EQ(failure, (Failure{"invalid_value", "mine"}));
  EXPECT_THAT(failure.context, Contains("at step 1 of epoch 1 of fit"));
}

TEST(Fit, RejectsOptionsOutOfRange) {
  Model model = small_network();
  const Dataset data = blobs(10);
  EXPECT_THROW(fit(model, data, {.epochs = 0}), ValueError);
  EXPECT_THROW(fit(model, data, {.epochs = -1}), ValueError);
  EXPECT_THROW(
      fit(model, data,
          {.epochs = std::numeric_limits<int64_t>::max(), .batch_size = 1}),
      ValueError);
  EXPECT_THROW(fit(model, data, {.batch_size = 0}), ValueError);
  EXPECT_THROW(fit(model, data, {.schedule = Schedule()}), ValueError);
  EXPECT_THROW(fit(model, data, {.callbacks = {nullptr}}), ValueError);
  EXPECT_EQ(fit_failure(model, data, {.epochs = 0}),
            (Failure{"out_of_range", "fit"}));
}

TEST(Fit, RejectsInvalidFactorsOfASchedule) {
  const auto with = [](float factor) {
    return FitOptions{
        .schedule = [factor](int64_t, int64_t) { return factor; }};
  };
  Model model = small_network();
  EXPECT_THROW(fit(model, blobs(10), with(kNan)), ValueError);
  EXPECT_THROW(fit(model, blobs(10), with(-1)), ValueError);
}

TEST(Fit, RejectsDataThatDoesNotMatchTheModel) {
  Model model = small_network();
  const Dataset none(Tensor::zeros({0, 2}), Tensor::zeros({0}, DType::i64));
  const Dataset wide(Tensor::zeros({1, 3}), Tensor::zeros({1}, DType::i64));
  EXPECT_THROW(fit(model, none), ValueError);
  EXPECT_THROW(fit(model, wide), ValueError);
  EXPECT_THROW(fit(model, blobs(10), {.validation = &wide}), ValueError);
  EXPECT_THROW(fit(model, blobs(10), {.validation = &none}), ValueError);
}

TEST(Fit, SuggestsATranspositionForChannelsFirst) {
  const SymbolicTensor x = input({4, 5, 3});
  Model model(x, Dense({.units = 2})(Flatten()(x)));
  const auto refusal = [&](const Shape& inputs) {
    return fit_failure(
        model, Dataset(Tensor::zeros(inputs), Tensor::zeros({6}, DType::i64)));
  };
  EXPECT_THAT(calls_in(refusal({6, 3, 4, 5}).message),
              ElementsAre("inputs.transposed({0,2,3,1})"));
  EXPECT_THAT(calls_in(refusal({6, 4, 5}).message), IsEmpty());
}

TEST(Fit, SuggestsAChannelAxisForGrayImages) {
  const SymbolicTensor x = input({4, 5, 1});
  Model model(x, Dense({.units = 2})(Flatten()(x)));
  EXPECT_THAT(
      calls_in(fit_failure(model, Dataset(Tensor::zeros({6, 4, 5}),
                                          Tensor::zeros({6}, DType::i64)))
                   .message),
      ElementsAre("inputs.reshaped({6,4,5,1})"));
}

TEST(Fit, RejectsAModelWithoutTrainableParameters) {
  const SymbolicTensor x = input({2});
  Model model(x, ReLU()(x));
  EXPECT_THROW(fit(model, blobs(10)), ValueError);
}

TEST(Fit, RunsAStepOfAnEpochStoppedAtItsStart) {
  class StopAt final : public Callback {
   public:
    explicit StopAt(int64_t epoch) : epoch_(epoch) {}
    void on_train_begin(const Progress& progress) override {
      if (epoch_ < 0) progress.training->stop();
    }
    void on_epoch_begin(const Progress& progress) override {
      EXPECT_EQ(progress.step, 0);
      EXPECT_EQ(progress.loss, 0);  // reset after the previous epoch
      EXPECT_TRUE(progress.metrics.empty());
      if (progress.epoch == epoch_) progress.training->stop();
    }
    void on_epoch_end(const Progress& progress) override {
      EXPECT_EQ(progress.logs().size(), progress.training->names().size());
      EXPECT_EQ(progress.step, progress.epoch == epoch_ ? 1 : 2);
    }

   private:
    int64_t epoch_;
  };
  for (const int64_t epoch : {-1, 0, 1}) {
    Model model = small_network();
    const History history =
        fit(model, blobs(10),
            {.epochs = 3,
             .batch_size = 5,
             .callbacks = {std::make_shared<StopAt>(epoch)}});
    EXPECT_EQ(std::ssize(history), epoch + 1);
    for (const EpochResult& result : history) EXPECT_GT(result.loss, 0);
  }
}

TEST(Fit, IgnoresGradientsOfAnAbortedFit) {
  class Stop final : public Callback {
    void on_step(const Progress&) override {
      throw ValueError("invalid_state", "callback", "stop");
    }
  };
  const auto train = [](bool interrupted) {
    Model model = small_network(3);
    if (interrupted) {
      // A backward pass without a step leaves gradients.
      const Batch batch = blobs(10).batch(0, 10);
      softmax_cross_entropy(model(Variable(batch.input()), Mode::training),
                            batch.label())
          .backward();
    }
    fit(model, blobs(100));
    return bits_of(model);
  };
  EXPECT_EQ(train(true), train(false));
  Model model = small_network();
  EXPECT_THROW(fit(model, blobs(10), {.callbacks = {std::make_shared<Stop>()}}),
               ValueError);
}

}  // namespace
}  // namespace octet::train
