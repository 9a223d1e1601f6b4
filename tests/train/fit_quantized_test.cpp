// What fit makes of a quantized model, and of data that is sorted by class.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"

namespace octet::train {
namespace {

using ::testing::HasSubstr;

TEST(FitQuantized, RefusesAModelThatIsNotCalibrated) {
  Model model = quant::quantize_model(small_network());
  EXPECT_THAT(error_of<ValueError>([&] { fit(model, blobs(16)); }),
              HasSubstr("fit: expected calibrated quantizers"));
  EXPECT_THAT(error_of<ValueError>([&] { (void)evaluate(model, blobs(16)); }),
              HasSubstr("evaluate: expected calibrated quantizers"));
  EXPECT_THAT(error_of<ValueError>([&] { (void)predict(model, blobs(16)); }),
              HasSubstr("predict: expected calibrated quantizers"));
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

TEST(FitQuantized, KeepsTheScalesThatThereAre) {
  Model model = quant::quantize_model(small_network());
  for (const auto& q : quant::quantizers(model)) {
    if (!q->calibrated()) q->set_scale(0.5f);
  }
  fit(model, blobs(64), {.calibrate = quant::CalibrationOptions{}});
  for (const auto& q : quant::quantizers(model)) {
    EXPECT_EQ(q->scale().value_or(0.5f), 0.5f);
  }
}

// The state has the scales.
TEST(FitQuantized, GoesOnWithoutScalesOfItsOwn) {
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
  EXPECT_THAT(error_of<ValueError>([&] {
                Model model = quant::quantize_model(small_network());
                fit(model, blobs(64), again);
              }),
              HasSubstr("fit: expected calibrated quantizers"));
}

TEST(FitQuantized, RefusesToCalibrateAFloatModel) {
  EXPECT_THAT(error_of<ValueError>([&] {
                Model model = small_network();
                fit(model, blobs(16),
                    {.calibrate = quant::CalibrationOptions{}});
              }),
              HasSubstr("run quantize_model first"));
}

/// blobs(), class 0 first.
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

// 99 % there and 33 % in the test were seen.
TEST(FitValidation, WarnsOfClassesThatItLacks) {
  const WarningsKept kept;
  Model model = small_network();
  fit(model, sorted(), {.validation_split = 0.25});
  ASSERT_EQ(kept.messages.size(), 1u);
  EXPECT_THAT(kept.messages[0], HasSubstr("none of 1 of them, the first 0"));
  EXPECT_THAT(kept.messages[0], HasSubstr(".stratified = true"));
  fit(model, sorted().shuffled(1), {.validation_split = 0.25});
  const auto [training, validation] =
      sorted().split(0.75, {.stratified = true});
  fit(model, training, {.validation = &validation});
  EXPECT_EQ(kept.messages.size(), 1u);
}

}  // namespace
}  // namespace octet::train
