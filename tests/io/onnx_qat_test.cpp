// From calibration to a file: the documented sequence, with wrappers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/layers/zoo.h>
#include <octet/train/train.h>

#include "tests/quant/folding.h"

namespace octet::io {
namespace {

class QatSequence : public ::testing::TestWithParam<quant::Policy> {
 protected:
  static Model calibrated(const Model& model) {
    Model result = quant::quantize_model(model, {.policy = GetParam()});
    quant::calibrate(result, samples(16, {28, 28}));
    return result;
  }
  static void train(Model& model) {
    (void)train::fit(model, samples(16, {28, 28}),
                     {.epochs = 1,
                      .batch_size = 8,
                      .optimizer = train::SGD({.learning_rate = 1e-3f})});
  }
  static std::string file_of(const Model& model, bool fold) {
    return to_onnx(model, {.fold_batch_norm = fold}).bytes;
  }
};

INSTANTIATE_TEST_SUITE_P(, QatSequence,
                         ::testing::Values(quant::Policy::toolkit,
                                           quant::Policy::tensorrt),
                         [](const auto& policy) {
                           return policy.param == quant::Policy::toolkit
                                      ? "Toolkit"
                                      : "Tensorrt";
                         });

TEST_P(QatSequence, EndsInAFileWithEveryPairAndTheTrainedWeights) {
  const Model real = zoo::pippin();
  Model model = calibrated(real);
  const std::string untrained = file_of(model, false);
  const auto mean = [&] {
    return bits(value_of(model, "batch_normalization", "moving_mean"));
  };
  const auto statistics = mean();

  quant::prepare_qat(model);
  quant::freeze_bn_stats(model);
  train(model);
  EXPECT_EQ(mean(), statistics);
  const std::string trained = file_of(model, false);
  const std::string folded = file_of(model, true);
  const Tensor x = noise({4, 28, 28});
  const auto rounded = bits(model.predict(x));
  quant::disable_fake_quant(model);
  EXPECT_NE(bits(model.predict(x)), rounded);

  EXPECT_NE(trained, untrained);
  EXPECT_EQ(file_of(model, false), trained);
  EXPECT_EQ(file_of(model, true), folded);
  const auto expected = quant::count_pairs(quant::plan_of(model), real).shared;
  EXPECT_EQ(to_onnx(model).report.qdq_pairs, expected);
  EXPECT_EQ(to_onnx(model, {.fold_batch_norm = true}).report.qdq_pairs,
            expected);
}

TEST_P(QatSequence, ContinuesAfterFolding) {
  Model model = calibrated(zoo::pippin());
  quant::prepare_qat(model);
  train(model);
  Model folded = quant::fold_batch_norm(model);
  EXPECT_EQ(to_onnx(folded).bytes, file_of(model, true));
  quant::prepare_qat(folded);
  train(folded);
  const OnnxFile on = to_onnx(folded);
  quant::disable_fake_quant(folded);
  EXPECT_EQ(to_onnx(folded).bytes, on.bytes);
  EXPECT_NE(on.bytes, file_of(model, true));
  EXPECT_EQ(on.report.qdq_pairs, to_onnx(model).report.qdq_pairs);
}

}  // namespace
}  // namespace octet::io
