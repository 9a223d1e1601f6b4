// The PTQ pipeline on a real network and real data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/keras.h>
#include <octet/quant/quant.h>

#include "keras_files.h"
#include "support.h"

namespace octet::io {
namespace {

class KeywordLadder : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testdata("kws01"))) {
      GTEST_SKIP() << testdata() << ": expected the shared test data";
    }
  }
  static quant::PtqPipelineOptions w4a8() {
    return {.quantize = {.weight = {.bits = 4,
                                    .narrow_range = true,
                                    .per_channel = true,
                                    .rule = quant::ScaleRule::fixed}}};
  }
};

class SlowKeywordLadder : public KeywordLadder {};

TEST_F(SlowKeywordLadder, KeepsTheAccuracyOfWeightsOf4Bits) {
  const Model model = load_keras(testdata("models/kws_ref_model_converted.h5"));
  const Keywords words = keywords();
  const Dataset data(words.x, words.labels);
  const quant::PtqPipeline ladder =
      quant::ptq_pipeline(model, data, 2.0, w4a8());
  const Tensor y = ladder.model.predict(words.x);
  int correct = 0;
  const auto labels = words.labels.data<int64_t>();
  for (size_t n = 0; n < labels.size(); ++n) {
    const auto scores = y.f32().subspan(12 * n, 12);
    const auto best = std::ranges::max_element(scores) - scores.begin();
    correct += best == labels[n] ? 1 : 0;
  }
  // Float: 913 of 1000; measured: 913. The stage was fitted to, and selected
  // by, these samples.
  EXPECT_GE(correct, 900) << ladder.to_string();
  EXPECT_FALSE(ladder.met);
  EXPECT_EQ(ladder.stages.back().method, "equalization, AdaRound");
}

TEST_F(KeywordLadder, StopsAtTheFirstStageThatMeetsTheTarget) {
  const Model model = load_keras(testdata("models/kws_ref_model_converted.h5"));
  const Keywords words = keywords();
  const quant::PtqPipeline ladder =
      quant::ptq_pipeline(model, Dataset(words.x, words.labels), 0.5, w4a8());
  EXPECT_TRUE(ladder.met);
  EXPECT_EQ(ladder.stages.size(), 1u);
  EXPECT_EQ(ladder.selected, "nearest rounding");
}

}  // namespace
}  // namespace octet::io
