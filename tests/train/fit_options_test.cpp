// fit with losses, metrics, weights, regularizers, clipping and accumulation.
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/fit.h>

#include "../support.h"
#include "blobs.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

/// y = 2 a - b + 1, for inputs [n,2] and targets [n,1].
Dataset line(int64_t n) {
  Tensor inputs(Shape{n, 2});
  Tensor targets(Shape{n, 1});
  Rng rng(3);
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    const float a = rng.normal();
    const float b = rng.normal();
    inputs.f32()[2 * i] = a;
    inputs.f32()[2 * i + 1] = b;
    targets.f32()[i] = 2 * a - b + 1;
  }
  return Dataset(inputs, targets);
}

Model linear() {
  const SymbolicTensor x = input({2});
  return Model(x, Dense({.units = 1, .name = "dense"})(x));
}

/// Returns the error of fit with these options.
Failure refusal_of(const FitOptions& options) {
  Model model = small_network();
  return failure_of<ValueError>([&] { fit(model, blobs(10), options); });
}

TEST(FitOptions, LearnsALine) {
  const Dataset data = line(64);
  for (const Loss& loss : {losses::mean_squared_error(), losses::huber(),
                           losses::mean_absolute_error()}) {
    Model model = linear();
    const History history = fit(model, data,
                                {.epochs = 150,
                                 .batch_size = 16,
                                 .optimizer = Adam({.learning_rate = 0.05f}),
                                 .schedule = cosine(),
                                 .validation = &data,
                                 .loss = loss,
                                 .metrics = {metrics::mean_absolute_error()}});
    EXPECT_LT(history.back().metrics.at(0).value, 0.02) << loss.name();
    EXPECT_TRUE(std::isnan(history.back().accuracy));
    const Evaluation& evaluation = history.back().validation.at(0);
    EXPECT_EQ(evaluation.value("mean_absolute_error"),
              evaluation.metrics.at(0).value);
    EXPECT_THROW(evaluation.value("accuracy"), NotFoundError);
    const Tensor answers = predict(model, data, 10);
    ASSERT_EQ(answers.shape(), (Shape{64, 1}));
    EXPECT_NEAR(answers.f32()[63], values(data.batch(63, 1).label())[0], 0.1);
  }
}

TEST(FitOptions, LearnsFromOneHotLabels) {
  const Batch all = blobs(100).batch(0, 100);
  Tensor shares(Shape{100, 2});
  for (size_t i = 0; i < 100; ++i) {
    const bool second = all.label().data<int64_t>()[i] == 1;
    shares.f32()[2 * i] = second ? 0.1f : 0.9f;
    shares.f32()[2 * i + 1] = second ? 0.9f : 0.1f;
  }
  Model model = small_network();
  const History history = fit(model, Dataset(all.input(), shares),
                              {.epochs = 5,
                               .batch_size = 10,
                               .optimizer = Adam({.learning_rate = 0.02f}),
                               .loss = losses::categorical_cross_entropy()});
  EXPECT_EQ(history.back().accuracy, 1.0);
}

TEST(FitOptions, AccumulatesTwoBatchesPerStep) {
  // Two batches of 5 give the step of a batch of 10, up to the order of sums.
  const auto train = [](int64_t batch_size, int64_t accumulate) {
    Model model = small_network();
    fit(model, blobs(25),
        {.epochs = 2,
         .batch_size = batch_size,
         .optimizer = SGD({.learning_rate = 0.1f, .momentum = 0.9f}),
         .schedule = cosine(),
         .accumulate = accumulate});
    return weights_of(model);
  };
  const std::vector<float> whole = train(10, 1);
  const std::vector<float> parts = train(5, 2);
  ASSERT_EQ(whole.size(), parts.size());
  for (size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(whole[i], parts[i], 1e-6);
  }
}

TEST(FitOptions, MatchesKerasClassWeights) {
  // Only the first class counts, twice. A learning rate of 0 fixes the weights.
  Model model = small_network();
  const Dataset data = blobs(10);
  const Tensor logits = predict(model, data);
  double expected = 0;
  for (size_t i = 0; i < 10; i += 2) {
    const double difference =
        double{logits.f32()[2 * i + 1]} - double{logits.f32()[2 * i]};
    expected += 2 * std::log1p(std::exp(difference)) / 10;
  }
  const History history =
      fit(model, data,
          {.optimizer = SGD({.learning_rate = 0}), .class_weights = {2, 0}});
  EXPECT_NEAR(history[0].loss, expected, 1e-6);
}

TEST(FitOptions, WeightsTheTwoClassesOfASingleOutput) {
  // Zero inputs give a loss of log 2 per sample; half of the samples count,
  // twice.
  const Dataset data(Tensor::zeros({4, 2}),
                     Tensor::of<int64_t>({4}, {0, 1, 1, 0}));
  const FitOptions options{.optimizer = SGD({.learning_rate = 0}),
                           .loss = losses::binary_cross_entropy(),
                           .class_weights = {0, 2}};
  Model model = linear();
  EXPECT_NEAR(fit(model, data, options)[0].loss, std::log(2.0), 1e-6);
  const Dataset third(Tensor::zeros({2, 2}), Tensor::of<int64_t>({2}, {0, 2}));
  EXPECT_THROW(fit(model, third, options), ValueError);
}

TEST(FitOptions, AddsTheRegularizationLoss) {
  const auto build = [](float l2) {
    const SymbolicTensor x = input({2});
    return Model(x, Dense({.units = 2, .kernel_regularizer = {.l2 = l2}})(x));
  };
  const Dataset data = blobs(8);
  const auto first_loss = [&](float l2) {
    Model model = build(l2);
    return fit(model, data,
               {.optimizer = SGD({.learning_rate = 0}), .validation = &data})
        .at(0);
  };
  double squares = 0;
  const Model plain = build(0);
  const auto kernel = plain.layer("dense").parameter("kernel").variable.value();
  for (const float w : kernel.f32()) squares += double{w} * double{w};
  const EpochResult without = first_loss(0);
  const EpochResult with = first_loss(0.5f);
  EXPECT_NEAR(with.loss - without.loss, 0.5 * squares, 1e-6);
  EXPECT_NEAR(with.validation[0].loss - without.validation[0].loss,
              0.5 * squares, 1e-6);
}

TEST(FitOptions, ClipsTheGradientNorm) {
  const auto moved = [](const FitOptions& options) {
    Model model = small_network();
    const std::vector<float> before = weights_of(model);
    fit(model, blobs(8), options);
    const std::vector<float> after = weights_of(model);
    double squares = 0;
    double most = 0;
    for (size_t i = 0; i < after.size(); ++i) {
      const double change = double{after[i]} - double{before[i]};
      squares += change * change;
      most = std::max(most, std::fabs(change));
    }
    return std::pair(std::sqrt(squares), most);
  };
  const SGD sgd({.learning_rate = 1.0f});
  EXPECT_GT(moved({.optimizer = sgd}).second, 0.02);
  EXPECT_NEAR(moved({.optimizer = sgd, .clip_norm = 0.01f}).first, 0.01, 1e-6);
  EXPECT_NEAR(moved({.optimizer = sgd, .clip_value = 0.01f}).second, 0.01,
              1e-6);
}

TEST(FitOptions, ValidatesOnTheLastPartOfTheData) {
  const Dataset data = blobs(11);
  Model model = small_network();
  const History history =
      fit(model, data,
          {.optimizer = SGD({.learning_rate = 0}), .validation_split = 0.3});
  // floor(11 * 0.7) samples are for training.
  const Evaluation expected = evaluate(small_network(), data.drop(7));
  ASSERT_EQ(history[0].validation.size(), 1u);
  EXPECT_EQ(history[0].validation[0].samples, 4);
  EXPECT_EQ(history[0].validation[0].loss, expected.loss);
}

TEST(FitOptions, DoesNotChangeFrozenLayers) {
  Model model = small_network();
  model.layer("hidden").set_trainable(false);
  const auto hidden = [&] {
    const auto values =
        model.layer("hidden").parameter("kernel").variable.value().f32();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> before = hidden();
  const std::vector<float> all = weights_of(model);
  fit(model, blobs(10), {.optimizer = AdamW()});
  EXPECT_EQ(hidden(), before);
  EXPECT_NE(weights_of(model), all);
}

TEST(FitOptions, IsBitIdenticalForAnyNumberOfThreads) {
  const int before = num_threads();
  const auto train = [](int threads, const Optimizer& optimizer) {
    set_num_threads(threads);
    Model model = small_network(3);
    fit(model, blobs(100),
        {.epochs = 2,
         .batch_size = 32,
         .optimizer = optimizer,
         .clip_norm = 0.5f,
         .accumulate = 2});
    return weights_of(model);
  };
  for (const Optimizer& optimizer :
       {Optimizer(SGD({.momentum = 0.9f, .weight_decay = 0.1f})),
        Optimizer(Adam()), Optimizer(AdamW()),
        Optimizer(RMSprop({.momentum = 0.5f, .centered = true}))}) {
    EXPECT_EQ(train(2, optimizer), train(1, optimizer));
  }
  set_num_threads(before);
}

TEST(FitOptions, CallsAllEventsOfCallbacks) {
  class Order final : public Callback {
   public:
    void on_train_begin(const Progress& p) override {
      names.assign(p.training->names().begin(), p.training->names().end());
      events += 'T';
    }
    void on_epoch_begin(const Progress&) override { events += 'E'; }
    void on_step(const Progress& p) override {
      events += 's';
      if (p.epoch == 1) p.training->stop();
    }
    void on_epoch_end(const Progress& p) override {
      events += 'e';
      for (const MetricValue& each : p.logs()) logged.push_back(each.name);
      rates.push_back(p.training->optimizer().learning_rate());
      p.training->optimizer().set_learning_rate(0.25f);
    }
    void on_train_end(const Progress&) override { events += 't'; }
    std::string events;
    std::vector<std::string> names;
    std::vector<std::string> logged;
    std::vector<float> rates;
  };
  const auto order = std::make_shared<Order>();
  const Dataset data = blobs(6);
  Model model = small_network();
  const History history =
      fit(model, data,
          {.epochs = 9,
           .batch_size = 2,
           .validation = &data,
           .callbacks = {order},
           .metrics = {metrics::accuracy(), metrics::top_k_accuracy(2)}});
  EXPECT_EQ(order->events, "TEssseEset");
  EXPECT_EQ(history.size(), 2u);
  EXPECT_EQ(history[1].learning_rate, 0.25);
  EXPECT_THAT(order->rates, ElementsAre(1e-3f, 0.25f));
  EXPECT_THAT(order->names, ElementsAre("loss", "accuracy", "top_2_accuracy",
                                        "val_loss", "val_accuracy",
                                        "val_top_2_accuracy", "learning_rate"));
  order->logged.resize(order->names.size());
  EXPECT_EQ(order->logged, order->names);
}

TEST(FitOptions, RejectsABatchLargerThanTheData) {
  const Failure expected{"out_of_range", "fit"};
  EXPECT_EQ(refusal_of({.batch_size = 11}), expected);
  EXPECT_EQ(refusal_of({.batch_size = 10}), (Failure{"no error", ""}));
  // The validation split is removed first.
  EXPECT_EQ(refusal_of({.batch_size = 10, .validation_split = 0.5}), expected);
}

TEST(FitOptions, RejectsNumbersOutOfRange) {
  const Dataset data = blobs(4);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Failure out_of_range{"out_of_range", "fit"};
  EXPECT_EQ(refusal_of({.validation_split = 1.0}), out_of_range);
  EXPECT_EQ(refusal_of({.validation_split = -0.1}), out_of_range);
  EXPECT_EQ(refusal_of({.validation_split = std::nan("")}), out_of_range);
  EXPECT_EQ(refusal_of({.validation_split = 0.999}), out_of_range);
  EXPECT_EQ(refusal_of({.validation = &data, .validation_split = 0.5}),
            (Failure{"conflicting_options", "fit"}));
  EXPECT_EQ(refusal_of({.class_weights = {1}}),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(refusal_of({.class_weights = {1, -1}}), out_of_range);
  EXPECT_EQ(refusal_of({.class_weights = {1, nan}}), out_of_range);
  EXPECT_EQ(refusal_of({.class_weights = {1, INFINITY}}), out_of_range);
  EXPECT_EQ(refusal_of({.class_weights = {1, 1, 1}}),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(refusal_of({.clip_norm = -1}), out_of_range);
  EXPECT_EQ(refusal_of({.clip_value = nan}), out_of_range);
  EXPECT_EQ(refusal_of({.accumulate = 0}), out_of_range);
  EXPECT_EQ(refusal_of({.metrics = {metrics::accuracy(), metrics::accuracy()}}),
            (Failure{"duplicate_name", "fit"}));
  for (const char* name : {"loss", "learning_rate", "val_loss"}) {
    Metric metric = metrics::accuracy();
    metric.name = name;
    EXPECT_EQ(refusal_of({.metrics = {metric}}),
              (Failure{"invalid_value", "fit"}));
  }
}

TEST(FitOptions, RejectsLabelsThatDoNotMatchTheLoss) {
  EXPECT_EQ(refusal_of({.loss = losses::categorical_cross_entropy()}),
            (Failure{"dtype_mismatch", "fit"}));
  EXPECT_EQ(refusal_of({.loss = losses::mean_squared_error()}),
            (Failure{"shape_mismatch", "fit"}));
  Model model = linear();
  EXPECT_THROW(fit(model, line(4)), ValueError);
}

}  // namespace
}  // namespace octet::train
