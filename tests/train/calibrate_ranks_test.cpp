// Calibration distributed over ranks.
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "sharded_job.h"

namespace octet::train {
namespace {

using quant::Calibration;
using quant::CalibrationOptions;

Model quantized() { return quant::quantize_model(shard_network()); }

std::vector<float> ranges_of(const std::vector<quant::CalibratedRange>& all) {
  std::vector<float> ranges;
  for (const auto& each : all) ranges.push_back(each.range);
  return ranges;
}

TEST(CalibrateRanks, MatchesASingleProcess) {
  const Quiet quiet;
  const Dataset data = images(50, 1);
  for (const Calibration method :
       {Calibration::max, Calibration::ema, Calibration::percentile,
        Calibration::last_value, Calibration::mse, Calibration::entropy}) {
    // 50 = 7 * 7 + 1; with 30 samples, some of 8 ranks have no batch.
    for (const CalibrationOptions& options :
         {CalibrationOptions{
              .method = method, .ema_rate = 0.3f, .batch_size = 7},
          CalibrationOptions{.method = method,
          .percentile = 99,
          .batch_size = 8,
          .samples = 30,
          .seed = 4}}) {
      SCOPED_TRACE(to_string(options));
      Model one = quantized();
      const auto expected = ranges_of(quant::calibrate(one, data, options));
      ASSERT_GT(expected.size(), 1U);
      for (const int count : {1, 2, 3, 8}) {
        on_ranks(count, [&](Communicator& ranks) {
          Model model = quantized();
          EXPECT_EQ(ranges_of(calibrate(model, data, ranks, options)),
                    expected);
          EXPECT_EQ(quant::state_of(model).status, quant::state_of(one).status);
        });
      }
    }
  }
}

/// Counts observed samples.
class Counting final : public quant::RangeObserver {
 public:
  explicit Counting(int64_t& samples) : samples_(samples) {}
  void observe(const Tensor& x) override { samples_ += x.shape()[0]; }
  std::optional<float> range() const override { return 1.0f; }

 private:
  int64_t& samples_;
};

TEST(CalibrateRanks, CustomObserverSeesAllSamples) {
  const Quiet quiet;
  on_ranks(2, [](Communicator& ranks) {
    int64_t samples = 0;
    Model model = quantized();
    const auto ranges = calibrate(
        model, images(50, 1), ranks,
        {.observer = [&] { return std::make_unique<Counting>(samples); }});
    EXPECT_EQ(samples, 50 * std::ssize(ranges));
  });
}

TEST(CalibrateRanks, RunsEachSampleOnce) {
  const Quiet quiet;
  int64_t read[2] = {0, 0};
  on_ranks(2, [&](Communicator& ranks) {
    int64_t& own = read[ranks.rank()];
    const Dataset data = images(64, 1).map([&own](const Batch& batch) {
      own += batch.size();
      return batch;
    });
    own = 0;
    Model model = quantized();
    (void)calibrate(model, data, ranks, {.batch_size = 8});
  });
  // Each rank compares all samples and runs half of them.
  EXPECT_EQ(read[0], 64 + 32);
  EXPECT_EQ(read[1], 64 + 32);
}

TEST(CalibrateRanks, ThrowsErrorsOfARankOnAllRanks) {
  const Quiet quiet;
  Tensor inputs(Shape{16, 6, 5, 1});
  Rng(1).fill_normal(inputs, 0, 1);
  const Tensor labels = Tensor::zeros({16}, DType::i64);
  const auto error = [&](const Tensor& x, const CalibrationOptions& options) {
    Failure failures[2];
    on_ranks(2, [&](Communicator& ranks) {
      Model model = quantized();
      failures[ranks.rank()] = failure_of<ValueError>(
          [&] { calibrate(model, Dataset(x, labels), ranks, options); });
      // The ranks still work afterwards.
      for (const auto& quantizer : quant::quantizers(model)) {
        EXPECT_FALSE(quantizer->observing());
        EXPECT_TRUE(quantizer->enabled());
      }
    });
    EXPECT_EQ(failures[0], failures[1]);
    return failures[0];
  };
  Tensor bad = inputs.clone();
  // A single such sample would be ignored.
  bad.f32()[15 * 30] = bad.f32()[14 * 30] =
      std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(error(bad, {.batch_size = 4}),
            (Failure{"not_finite", "calibrate"}));
  EXPECT_EQ(error(Tensor::full({16, 6, 5, 1}, 3), {.batch_size = 4}),
            (Failure{"invalid_value", "input 'input_layer'"}));
  EXPECT_EQ(error(inputs, {.batch_size = 0}),
            (Failure{"out_of_range", "calibrate"}));
  // The samples of a rank are constant, but all samples together vary.
  Tensor half = inputs.clone();
  for (size_t i = 0; i < 8 * 30; ++i) half.f32()[i] = 3;
  on_ranks(2, [&](Communicator& ranks) {
    Model model = quantized();
    EXPECT_NO_THROW(
        calibrate(model, Dataset(half, labels), ranks, {.batch_size = 4}));
  });
}

}  // namespace
}  // namespace octet::train
