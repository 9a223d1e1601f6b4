#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"

namespace octet::train {
namespace {

Dataset noise_of_ten_classes() {
  Tensor labels({40}, DType::i64);
  int64_t next = 0;
  for (int64_t& label : labels.data<int64_t>()) label = next++ % 10;
  return Dataset(noise({40, 28, 28, 1}), labels);
}

TEST(QatPreset, DerivesFromTheFloatTraining) {
  EXPECT_EQ(qat_preset("int8").epochs_of(30), 3);
  EXPECT_EQ(qat_preset("int8").epochs_of(1), 1);
  EXPECT_EQ(qat_preset("int8_mobile").epochs_of(30), 6);
  EXPECT_EQ(qat_preset("int4").epochs_of(90), 30);
  EXPECT_THROW((void)qat_preset("int8").epochs_of(0), ValueError);
  EXPECT_FLOAT_EQ(qat_preset("int8").optimizer(0.1f).learning_rate(), 1e-3f);
  EXPECT_FLOAT_EQ(qat_preset("int8_mobile").optimizer().learning_rate(), 1e-4f);
  EXPECT_FLOAT_EQ(qat_preset("int4").optimizer(0.1f).learning_rate(), 1e-2f);
  // Near the end of the cosine.
  EXPECT_NEAR(qat_preset("int8").schedule()(9999, 10000), 0.01, 1e-4);
  EXPECT_NEAR(qat_preset("int4").schedule()(9999, 10000), 0, 1e-4);
}

TEST(QatPreset, RejectsUnknownNames) {
  EXPECT_EQ(failure_of<NotFoundError>([] { (void)qat_preset("int_8"); }),
            (Failure{"unknown_name", "QAT preset 'int_8'"}));
}

TEST(QatPreset, KeepsTheFirstAndTheLastLayerInEightBits) {
  const Model model = zoo::make("lenet");
  EXPECT_TRUE(inner_bits(model, 8).empty());
  EXPECT_THROW((void)inner_bits(model, 9), ValueError);
  const QatPreset& preset = qat_preset("int4");
  const Model int4 = quant::quantize_model(model, preset.quantize(model));
  std::vector<int> widths;
  for (const auto& placed : quant::weight_quantizers(int4)) {
    widths.push_back(placed.quantizer->config().bits);
    EXPECT_EQ(placed.quantizer->config().rule, quant::ScaleRule::learned);
  }
  EXPECT_THAT(widths, ::testing::ElementsAre(8, 4, 4, 4, 8));
}

TEST(QatPreset, TrainsFromCalibrationToTheEnd) {
  const Dataset data = noise_of_ten_classes();
  for (const QatPreset& preset : qat_presets()) {
    const Model model = zoo::make("lenet");
    Model qat = quant::quantize_model(model, preset.quantize(model));
    quant::calibrate(qat, data, preset.calibration());
    preset.prepare(qat);
    const History history = fit(qat, data,
                                {.epochs = preset.epochs_of(6),
                                 .batch_size = 8,
                                 .optimizer = preset.optimizer(),
                                 .schedule = preset.schedule()});
    EXPECT_LT(history.back().loss, 2.4) << preset.name;
  }
}

}  // namespace
}  // namespace octet::train
