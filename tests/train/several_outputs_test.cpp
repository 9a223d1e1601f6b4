// Models with several inputs and outputs: assignment of data and losses.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "checkpoints.h"
#include "tests/support.h"
#include "weights.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

/// Inputs "left" [3] and "right" [2], heads "box" [2] and "class" [4].
Model two_by_two(uint64_t seed = 3) {
  const SymbolicTensor left = input({3}, "left");
  const SymbolicTensor right = input({2}, "right");
  const SymbolicTensor a = Dense({.units = 5, .name = "a"})(left);
  const SymbolicTensor b = Dense({.units = 5, .name = "b"})(right);
  const SymbolicTensor both = ReLU({.name = "both"})(Add()({a, b}));
  const SymbolicTensor box = Dense({.units = 2, .name = "box"})(both);
  const SymbolicTensor kind = Dense({.units = 4, .name = "class"})(both);
  return Model({left, right}, {box, kind}, {.seed = seed});
}

struct Samples {
  Tensor left, right, box, kind;
};

Samples samples(int64_t n, uint64_t seed = 1) {
  Samples s{Tensor({n, 3}), Tensor({n, 2}), Tensor({n, 2}),
            Tensor({n}, DType::i64)};
  Rng rng(seed);
  for (Tensor* tensor : {&s.left, &s.right, &s.box}) {
    rng.fill_normal(*tensor, 0, 1);
  }
  for (int64_t& k : s.kind.data<int64_t>()) k = rng.below(4);
  return s;
}

Dataset named(const Samples& s) {
  return Dataset({{"left", s.left}, {"right", s.right}},
                 {{"box", s.box}, {"class", s.kind}});
}

Losses two_losses(float weight = 0.5f) {
  return {{"box", losses::mean_squared_error(), weight},
          {"class", losses::sparse_categorical_cross_entropy()}};
}

FitOptions options(Losses loss = two_losses()) {
  return {.epochs = 3,
          .batch_size = 8,
          .optimizer = SGD({.learning_rate = 0.1f}),
          .seed = 4,
          .verbose = false,
          .loss = std::move(loss)};
}

std::vector<float> trained(const Dataset& data, const FitOptions& o) {
  Model model = two_by_two();
  (void)fit(model, data, o);
  return weights_of(model);
}

TEST(SeveralOutputs, AddTheirWeightedLosses) {
  const Samples s = samples(6);
  Model model = two_by_two();
  FitOptions o = options(two_losses(0.25f));
  o.epochs = 1;
  o.batch_size = 6;
  const History history = fit(model, named(s), o);

  // Reference: the same step by hand.
  Model other = two_by_two();
  const std::vector<Variable> inputs{s.left, s.right};
  const std::vector<Variable> y = other(inputs, Mode::training);
  const Variable box = mean_squared_error(y[0], s.box);
  const Variable kind = softmax_cross_entropy(y[1], s.kind);
  const Variable loss = add(scale_shift(box, 0.25f), kind);
  loss.backward();
  Optimizer optimizer = SGD({.learning_rate = 0.1f});
  optimizer.attach(other.trainable_variables());
  optimizer.step();

  EXPECT_NEAR(history[0].loss, loss.value().item(), 1e-6);
  const std::vector<float> ours = weights_of(model), theirs = weights_of(other);
  ASSERT_EQ(ours.size(), theirs.size());
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], 1e-6) << i;
  }
  EXPECT_NEAR(history[0].metrics[0].value, box.value().item(), 1e-6);
  EXPECT_NEAR(history[0].metrics[1].value, kind.value().item(), 1e-6);
}

TEST(SeveralOutputs, AreMatchedByNameInAnyOrder) {
  const Samples s = samples(21);
  const std::vector<float> expected = trained(named(s), options());
  const Dataset shuffled({{"right", s.right}, {"left", s.left}},
                         {{"class", s.kind}, {"box", s.box}});
  const Losses other{{"class", losses::sparse_categorical_cross_entropy()},
                     {"box", losses::mean_squared_error(), 0.5f}};
  EXPECT_EQ(trained(shuffled, options()), expected);
  EXPECT_EQ(trained(named(s), options(other)), expected);
  EXPECT_EQ(trained(shuffled, options(other)), expected);
  EXPECT_EQ(trained(Dataset({s.left, s.right}, {s.box, s.kind}), options()),
            expected);
  const Losses in_order{{"", losses::mean_squared_error(), 0.5f},
                        losses::sparse_categorical_cross_entropy()};
  EXPECT_EQ(trained(named(s), options(in_order)), expected);
}

TEST(SeveralOutputs, AreReportedByName) {
  const Samples s = samples(30);
  Losses loss{{"box",
               losses::mean_squared_error(),
               1,
               {metrics::mean_absolute_error()}},
              {"class", losses::sparse_categorical_cross_entropy()}};
  FitOptions o = options(loss);
  o.validation_split = 0.2;
  Model model = two_by_two();
  const History history = fit(model, named(s), o);
  std::vector<std::string> names;
  for (const MetricValue& each : history.back().metrics) {
    names.push_back(each.name);
  }
  EXPECT_THAT(names, ElementsAre("box_loss", "class_loss",
                                 "box_mean_absolute_error", "class_accuracy"));
  const Evaluation& validation = history.back().validation.at(0);
  EXPECT_NEAR(validation.loss,
              validation.value("box_loss") + validation.value("class_loss"),
              1e-6);
  EXPECT_TRUE(std::isnan(validation.accuracy));

  // Computed by hand on the last fifth of the data.
  const std::vector<Tensor> y =
      model.predict(std::vector<Tensor>{s.left, s.right});
  int64_t right = 0;
  double absolute = 0;
  for (int64_t i = 24; i < 30; ++i) {
    const auto row = y[1].f32().subspan(static_cast<size_t>(4 * i), 4);
    right += std::ranges::max_element(row) - row.begin() ==
             s.kind.data<int64_t>()[static_cast<size_t>(i)];
    for (size_t k = static_cast<size_t>(2 * i);
         k < 2 * static_cast<size_t>(i) + 2; ++k) {
      absolute += std::fabs(double{y[0].f32()[k]} - double{s.box.f32()[k]});
    }
  }
  EXPECT_NEAR(validation.value("class_accuracy"),
              static_cast<double>(right) / 6, 1e-12);
  EXPECT_NEAR(validation.value("box_mean_absolute_error"), absolute / 12, 1e-6);
}

TEST(SeveralOutputs, AreMonitoredByCallbacks) {
  FitOptions o = options();
  o.epochs = 20;
  o.validation_split = 0.5;
  o.callbacks = {early_stopping(
      {.monitor = "val_class_accuracy", .better = Better::higher})};
  Model model = two_by_two();
  EXPECT_LT(fit(model, named(samples(30)), o).size(), 20u);
}

TEST(SeveralOutputs, WithoutALossAreNotTrained) {
  const Samples s = samples(16);
  Model model = two_by_two();
  const Tensor before =
      model.layer("box").parameter("kernel").variable.value().clone();
  const Losses loss{{"class", losses::sparse_categorical_cross_entropy()}};
  const History history = fit(model, named(s), options(loss));
  const Tensor after = model.layer("box").parameter("kernel").variable.value();
  EXPECT_EQ(values(before), values(after));
  // With a single loss, names have no prefix.
  EXPECT_FALSE(std::isnan(history.back().accuracy));
  // Data may have only the label of this output, named or not.
  EXPECT_NO_THROW((void)evaluate(model, Dataset({s.left, s.right}, s.kind),
                                 {.loss = loss}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)evaluate(model,
                             Dataset({s.left, s.right}, {{"box", s.box}}),
                             {.loss = loss});
            }),
            (Failure{"missing_value", "evaluate"}));
}

TEST(SeveralOutputs, UseSampleWeights) {
  const Samples s = samples(12);
  const auto weighted = [&](float first, float others) {
    Tensor weights = Tensor::full({12}, others);
    weights.f32()[0] = weights.f32()[5] = first;
    return named(s).with_weights(weights);
  };
  EXPECT_EQ(trained(weighted(1, 1), options()), trained(named(s), options()));
  EXPECT_NE(trained(weighted(2, 1), options()), trained(named(s), options()));
  const Model model = two_by_two();
  const double once = evaluate(model, named(s), {.loss = two_losses()}).loss;
  const double twice =
      evaluate(model, weighted(2, 2), {.loss = two_losses()}).loss;
  EXPECT_NEAR(twice, 2 * once, 1e-6);
}

TEST(SeveralOutputs, AreEvaluatedBitIdenticallyForAnyBatchSize) {
  const Model model = two_by_two();
  const Dataset data = named(samples(23));
  const Evaluation all = evaluate(model, data, {.loss = two_losses()});
  const Evaluation some =
      evaluate(model, data, {.batch_size = 5, .loss = two_losses()});
  for (size_t i = 0; i < all.metrics.size(); ++i) {
    EXPECT_EQ(all.metrics[i].value, some.metrics[i].value);
  }
  const std::vector<Tensor> y = predict_all(model, data, 5);
  const std::vector<Tensor> whole = model.predict(data.batch(0, 23).inputs);
  ASSERT_EQ(y.size(), 2u);
  EXPECT_EQ(values(y[0]), values(whole[0]));
  EXPECT_EQ(values(y[1]), values(whole[1]));
}

TEST(SeveralOutputs, HaveTheSameNamesWhenQuantized) {
  const Samples s = samples(40);
  const Model model = two_by_two();
  for (const auto& policy : {quant::Policy::toolkit, quant::Policy::tensorrt}) {
    Model int8 = quant::quantize_model(model, {.policy = policy});
    quant::calibrate(
        int8, Dataset::unlabeled({{"right", s.right}, {"left", s.left}}));
    Model by_hand = quant::quantize_model(model, {.policy = policy});
    quant::calibrate(by_hand, [&](const Model& m) {
      (void)m(std::vector<Variable>{s.left, s.right});
    });
    const std::vector<Tensor> x{s.left, s.right};
    EXPECT_EQ(values(int8.predict(x)[0]), values(by_hand.predict(x)[0]));
    EXPECT_EQ(values(int8.predict(x)[1]), values(by_hand.predict(x)[1]));
    FitOptions o = options();
    o.epochs = 1;
    EXPECT_NO_THROW((void)fit(int8, named(s), o));
  }
}

TEST(SeveralOutputs, ResumeBitIdentically) {
  const Dataset data = named(samples(30));
  const std::vector<float> undisturbed = trained(data, options());
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  FitOptions o = options();
  o.checkpoints = checkpoints;
  Model whole = two_by_two();
  (void)fit(whole, data, o);
  EXPECT_EQ(weights_of(whole), undisturbed);
  checkpoints->states.resize(6);  // in the second epoch
  o.resume = true;
  Model again = two_by_two();
  (void)fit(again, data, o);
  EXPECT_EQ(weights_of(again), undisturbed);

  FitOptions changed = o;
  changed.loss = two_losses(0.75f);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)fit(again, data, changed); }),
            (Failure{"conflicting_options", "checkpoint"}));
}

TEST(SeveralOutputs, FindALearningRate) {
  EXPECT_GT(find_learning_rate(two_by_two(), named(samples(64)),
                               {.loss = two_losses()})
                .suggestion,
            0);
}

TEST(SeveralOutputs, RejectMismatchedLosses) {
  const Dataset data = named(samples(8));
  Model model = two_by_two();
  const auto message = [&](Losses loss) {
    return failure_of<ValueError>(
        [&] { (void)fit(model, data, options(std::move(loss))); });
  };
  const Loss mse = losses::mean_squared_error();
  EXPECT_EQ(message(losses::sparse_categorical_cross_entropy()),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(message({mse, mse, mse}), (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(message({{"boxes", mse}}), (Failure{"unknown_name", "fit loss"}));
  EXPECT_EQ(message({{"box", mse}, {"box", mse}}),
            (Failure{"duplicate_name", "fit"}));
  EXPECT_EQ(message({{"box", mse, -1.0f}}), (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(message({{"box", mse, std::numeric_limits<float>::quiet_NaN()}}),
            (Failure{"out_of_range", "fit"}));
  EXPECT_EQ(message(Losses(std::vector<OutputLoss>())),
            (Failure{"count_mismatch", "fit"}));
  // Losses exchanged.
  EXPECT_EQ(message({losses::sparse_categorical_cross_entropy(), mse}),
            (Failure{"dtype_mismatch", "fit"}));
}

TEST(SeveralOutputs, RejectMismatchedData) {
  const Samples s = samples(8);
  Model model = two_by_two();
  const auto message = [&](const Dataset& data) {
    return failure_of<ValueError>([&] { (void)fit(model, data, options()); });
  };
  EXPECT_EQ(message(Dataset({s.left}, {s.box, s.kind})),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(message(Dataset({s.right, s.left}, {s.box, s.kind})),
            (Failure{"shape_mismatch", "fit"}));
  EXPECT_EQ(
      message(Dataset({{"left", s.left}, {"rigth", s.right}}, {s.box, s.kind})),
      (Failure{"unknown_name", "fit"}));
  EXPECT_EQ(message(Dataset({s.left, s.right}, s.kind)),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(message(Dataset::unlabeled({s.left, s.right})),
            (Failure{"count_mismatch", "fit"}));
  EXPECT_EQ(
      message(Dataset({s.left, s.right}, {{"box", s.box}, {"klass", s.kind}})),
      (Failure{"unknown_name", "fit labels"}));
  Samples high = s;
  high.kind = Tensor::of<int64_t>({8}, std::vector<int64_t>(8, 7));
  EXPECT_EQ(message(named(high)), (Failure{"out_of_range", "fit"}));
}

TEST(SeveralOutputs, RejectFeaturesOfASingleOutput) {
  const Samples s = samples(8);
  Model model = two_by_two();
  FitOptions weights = options();
  weights.class_weights = {1, 2, 3, 4};
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)fit(model, named(s), weights); }),
      (Failure{"count_mismatch", "fit"}));
  FitOptions measured = options();
  measured.metrics = {metrics::accuracy()};
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)fit(model, named(s), measured); }),
      (Failure{"conflicting_options", "fit"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)predict(model, named(s)); }),
            (Failure{"count_mismatch", "model 'model'"}));
  EXPECT_THROW((void)confusion_matrix(model, named(s)), ValueError);
  EXPECT_THROW((void)losses::mean_squared_error().for_model(model), ValueError);
}

}  // namespace
}  // namespace octet::train
