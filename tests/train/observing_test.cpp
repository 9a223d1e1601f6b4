// Ranges that quantizers observe in training and prediction are bit-identical
// for any number of threads.
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/parallel.h>
#include <octet/train/train.h>

#include "../support.h"
#include "checkpoints.h"

namespace octet::train {
namespace {

using quant::Calibration;

/// Returns the ranges of all quantizers in model order.
template <class Run>
std::vector<float> ranges_after(Calibration method, int threads,
                                const Run& run) {
  const ThreadCountGuard restored;
  set_num_threads(threads);
  Model model = quant::quantize_model(image_network());
  for (const auto& q : quant::quantizers(model)) {
    q->start_observing({.method = method, .percentile = 90});
  }
  run(model);
  std::vector<float> ranges;
  for (const auto& q : quant::quantizers(model)) {
    if (const auto range = q->finish_observing()) ranges.push_back(*range);
  }
  EXPECT_FALSE(ranges.empty());
  return ranges;
}

class Observing : public testing::TestWithParam<Calibration> {};

TEST_P(Observing, IsTheSameForAnyThreadsInPredict) {
  const auto run = [](const Model& model) {
    (void)model.predict(images(100, 1).batch(0, 100).input());
  };
  const auto expected = ranges_after(GetParam(), 1, run);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ranges_after(GetParam(), 4, run), expected);
  }
}

TEST_P(Observing, IsTheSameForAnyThreadsInFitWithValidation) {
  const auto run = [](Model& model) {
    const Dataset validation = images(100, 2);
    fit(model, images(50, 1), {.batch_size = 16, .validation = &validation});
  };
  const auto expected = ranges_after(GetParam(), 1, run);
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(ranges_after(GetParam(), 4, run), expected);
  }
}

TEST_P(Observing, IgnoresValidationData) {
  const auto train = [](const Dataset* validation) {
    return [validation](Model& model) {
      fit(model, images(50, 1), {.batch_size = 16, .validation = validation});
    };
  };
  const Dataset validation = images(100, 2);
  EXPECT_EQ(ranges_after(GetParam(), 2, train(&validation)),
            ranges_after(GetParam(), 2, train(nullptr)));
}

INSTANTIATE_TEST_SUITE_P(Methods, Observing,
                         testing::Values(Calibration::max, Calibration::ema,
                                         Calibration::percentile));

TEST(Calibrate, UsesTheInputsOfPredict) {
  const auto scales = [](const std::function<void(const Model&)>& forward) {
    Model model = quant::quantize_model(image_network());
    quant::calibrate(model, forward, {.method = Calibration::ema});
    std::vector<float> result;
    for (const auto& q : quant::quantizers(model)) {
      if (const auto scale = q->scale()) result.push_back(*scale);
    }
    return result;
  };
  const Dataset data = images(40, 1);
  EXPECT_EQ(scales([&](const Model& m) { (void)predict(m, data, 16); }),
            scales([&](const Model& m) {
              for (const int64_t at : {0, 16, 32}) {
                const int64_t count = at == 32 ? 8 : 16;
                (void)m(Variable(data.batch(at, count).input()));
              }
            }));
}

}  // namespace
}  // namespace octet::train
