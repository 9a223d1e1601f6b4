// fit with quantized models, and with data sorted by class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../facts.h"
#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"

namespace octet::train {
namespace {

using ::testing::ElementsAre;

TEST(FitQuantized, RejectsAModelThatIsNotCalibrated) {
  Model model = quant::quantize_model(small_network());
  EXPECT_EQ(failure_of<ValueError>([&] { fit(model, blobs(16)); }),
            (Failure{"not_calibrated", "fit"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)evaluate(model, blobs(16)); }),
            (Failure{"not_calibrated", "evaluate"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)predict(model, blobs(16)); }),
            (Failure{"not_calibrated", "predict"}));
}

TEST(FitQuantized, CalibratesOnRequest) {
  Model model = quant::quantize_model(small_network());
  fit(model, blobs(64),
      {.epochs = 2,
       .calibrate = quant::CalibrationOptions{.samples = 32},
       .validation_split = 0.25});
  Model by_hand = quant::quantize_model(small_network());
  quant::calibrate(by_hand, blobs(64).take(48), {.samples = 32});
  fit(by_hand, blobs(64), {.epochs = 2, .validation_split = 0.25});
  const Tensor x = noise({9, 2});
  EXPECT_EQ(bits(model.predict(x)), bits(by_hand.predict(x)));
}

TEST(FitQuantized, DoesNotRecalibrate) {
  Model model = quant::quantize_model(small_network());
  for (const auto& q : quant::quantizers(model)) {
    if (!q->calibrated()) q->set_scale(0.5f);
  }
  fit(model, blobs(64), {.calibrate = quant::CalibrationOptions{}});
  for (const auto& q : quant::quantizers(model)) {
    EXPECT_EQ(q->scale().value_or(0.5f), 0.5f);
  }
}

const quant::QuantizerConfig kLearned{.bits = 4,
                                      .rule = quant::ScaleRule::learned};
const quant::QuantizerConfig kLearnedWeight{.bits = 4,
                                            .narrow_range = true,
                                            .per_channel = true,
                                            .rule = quant::ScaleRule::learned};

TEST(FitQuantized, TrainsFromScratchWithRunningScales) {
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::ema, quant::ScaleRule::last_value}) {
    Model model = quant::quantize_model(
        small_network(), {.activation = {.rule = rule, .freeze_step = 30}});
    const History history =
        fit(model, blobs(256),
            {.epochs = 10, .optimizer = Adam({.learning_rate = 1e-2f})});
    EXPECT_LT(history.back().loss, 0.5 * history.front().loss);
    EXPECT_GT(evaluate(model, blobs(256)).accuracy, 0.9);
    for (const auto& q : quant::quantizers(model)) {
      EXPECT_EQ(q->frozen(), q->config().follows()) << q->name();
    }
  }
}

// [0,255] after the ReLU, for ONNX Runtime and Octet's session.
TEST(FitQuantized, TrainsWithUnsignedInt8) {
  for (const quant::ScaleRule rule :
       {quant::ScaleRule::fixed, quant::ScaleRule::ema,
        quant::ScaleRule::learned, quant::ScaleRule::learned_clip}) {
    Model model = quant::quantize_model(
        small_network(), {.activation = {.rule = rule, .is_signed = false}});
    quant::calibrate(model, blobs(256));
    quant::prepare_qat(model);
    const History history =
        fit(model, blobs(256),
            {.epochs = 10, .optimizer = SGD({.learning_rate = 0.02f})});
    EXPECT_LT(history.back().loss, 0.5 * history.front().loss);
    EXPECT_GT(evaluate(model, blobs(256)).accuracy, 0.9);
    int64_t wide = 0;
    for (const auto& q : quant::quantizers(model)) {
      wide += q->config().high() == 255;
    }
    EXPECT_EQ(wide, 1);
    // The session matches the trained model.
    const Tensor x = noise({32, 2}, 2);
    EXPECT_EQ(bits(InferenceSession(model).run(x)),
              bits(model(Variable(x)).value()));
  }
}

TEST(FitQuantized, UpdatesLearnedScales) {
  Model model = quant::quantize_model(
      small_network(), {.activation = kLearned, .weight = kLearnedWeight});
  const auto scales = [&] {
    std::vector<float> all;
    for (const auto& q : quant::quantizers(model)) {
      const std::vector<float> own = q->scales();
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  };
  quant::calibrate(model, blobs(256));
  const std::vector<float> before = scales();
  const History history =
      fit(model, blobs(256),
          {.epochs = 10, .optimizer = Adam({.learning_rate = 1e-2f})});
  const std::vector<float> after = scales();
  for (size_t i = 0; i < before.size(); ++i) EXPECT_NE(after[i], before[i]);
  EXPECT_LT(history.back().loss, history.front().loss);
}

// LSQ+, from ranges that clip half of the values at the low end.
TEST(FitQuantized, LearnsZeroPoints) {
  Model model = quant::quantize_model(
      quant::tflite_form(small_network()),
      {.policy = quant::Policy::tflite,
       .activation = {.rule = quant::ScaleRule::learned_affine,
                      .scale_rate = 1}});
  quant::calibrate(model, blobs(256));
  std::vector<int> before;
  for (const auto& q : quant::quantizers(model)) {
    if (q->offset_parameter()) {
      q->set_range({static_cast<float>(q->config().low()) * *q->scale() / 2,
                    static_cast<float>(q->config().high()) * *q->scale()});
    }
    before.push_back(q->config().zero_point);
  }
  quant::prepare_qat(model);
  const double loss = evaluate(model, blobs(256)).loss;
  const History history = fit(
      model, blobs(256),
      {.epochs = 10, .optimizer = SGD({.learning_rate = 0.02f}), .shards = 2});
  EXPECT_LT(history.back().loss, loss);
  int moved = 0;
  size_t at = 0;
  for (const auto& q : quant::quantizers(model)) {
    EXPECT_GE(q->config().zero_point, 0);
    EXPECT_LE(q->config().zero_point, 255);
    moved += q->config().zero_point != before[at++];
  }
  EXPECT_GT(moved, 0);
}

TEST(FitQuantized, WarnsOfStepsTooLargeForLearnedScales) {
  const auto warnings_of = [](const Optimizer& optimizer,
                              quant::ScaleRule rule =
                                  quant::ScaleRule::learned) {
    Model model =
        quant::quantize_model(small_network(), {.activation = {.rule = rule}});
    quant::calibrate(model, blobs(64));
    const WarningCapture warnings;
    fit(model, blobs(64), {.optimizer = optimizer});
    return warnings.messages;
  };
  const std::vector<Failure> warnings =
      warnings_of(Adam({.learning_rate = 1e-2f}));
  EXPECT_THAT(warnings, ElementsAre(Failure{"large_learning_rate", "fit"}));
  EXPECT_EQ(numbers_in(warnings.at(0).text()).at(0), 0.01);
  EXPECT_THAT(warnings_of(Adam({.learning_rate = 1e-6f})),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings_of(SGD({.learning_rate = 1e-2f})), ::testing::IsEmpty());
  // With Adam, a step of a logarithm is a share of the scale.
  const quant::ScaleRule logarithm = quant::ScaleRule::learned_log2;
  EXPECT_THAT(warnings_of(Adam({.learning_rate = 1e-2f}), logarithm),
              ::testing::IsEmpty());
  EXPECT_THAT(warnings_of(SGD({.learning_rate = 1e-2f}), logarithm),
              ElementsAre(Failure{"unsuitable_optimizer", "fit"}));
}

// Learned scales belong to the optimizer, so they must exist before resuming.
TEST(FitQuantized, ResumesWithLearnedScales) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const auto make = [] {
    return quant::quantize_model(
        small_network(), {.activation = kLearned, .weight = kLearnedWeight});
  };
  FitOptions options{.epochs = 2,
                     .calibrate = quant::CalibrationOptions{},
                     .checkpoints = checkpoints,
                     .resume = true};
  Model first = make();
  fit(first, blobs(64), options);
  Model second = make();
  fit(second, blobs(64), options);
  const Tensor x = noise({9, 2});
  EXPECT_EQ(bits(second.predict(x)), bits(first.predict(x)));
  Model third = make();
  options.calibrate = {};
  EXPECT_EQ(failure_of<ValueError>([&] { fit(third, blobs(64), options); }),
            (Failure{"not_calibrated", "fit"}));
}

// The checkpoint has the scales.
TEST(FitQuantized, ResumesWithoutCalibration) {
  const auto checkpoints = std::make_shared<MemoryCheckpoints>();
  const FitOptions options{.epochs = 2,
                           .calibrate = quant::CalibrationOptions{},
                           .checkpoints = checkpoints,
                           .resume = true};
  Model first = quant::quantize_model(small_network());
  fit(first, blobs(64), options);
  FitOptions again = options;
  again.calibrate = {};
  Model second = quant::quantize_model(small_network());
  fit(second, blobs(64), again);
  const Tensor x = noise({9, 2});
  EXPECT_EQ(bits(second.predict(x)), bits(first.predict(x)));
  again.checkpoints = std::make_shared<MemoryCheckpoints>();
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model model = quant::quantize_model(small_network());
              fit(model, blobs(64), again);
            }),
            (Failure{"not_calibrated", "fit"}));
}

TEST(FitQuantized, RejectsToCalibrateAFloatModel) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              Model model = small_network();
              fit(model, blobs(16), {.calibrate = quant::CalibrationOptions{}});
            }),
            (Failure{"not_quantized", "calibrate"}));
}

/// blobs(), sorted by class.
Dataset sorted() {
  const Dataset data = blobs(40);
  const Batch all = data.batch(0, 40);
  std::vector<int64_t> order;
  for (const int64_t wanted : {0, 1}) {
    for (int64_t i = 0; i < 40; ++i) {
      if (all.label().data<int64_t>()[static_cast<size_t>(i)] == wanted) {
        order.push_back(i);
      }
    }
  }
  const Batch batch = data.batch(order);
  return Dataset(batch.input(), batch.label());
}

// Such a split gave 99 % validation accuracy and 33 % test accuracy.
TEST(FitValidation, WarnsOfMissingClasses) {
  const WarningCapture kept;
  Model model = small_network();
  fit(model, sorted(), {.validation_split = 0.25});
  ASSERT_THAT(kept.messages, ElementsAre(Failure{"missing_classes", "fit"}));
  EXPECT_EQ(numbers_in(kept.messages[0].message).at(0), 1);
  fit(model, sorted().shuffled(1), {.validation_split = 0.25});
  const auto [training, validation] =
      sorted().hold_out(0.25, {.stratified = true});
  fit(model, training, {.validation = &validation});
  EXPECT_EQ(kept.messages.size(), 1u);
  // Each part lacks the class of the other.
  const Dataset second = sorted().drop(20);
  fit(model, sorted().take(20), {.validation = &second});
  EXPECT_EQ(kept.messages.size(), 3u);
}

}  // namespace
}  // namespace octet::train
