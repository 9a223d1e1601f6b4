// check_quantizers() on models with deliberate faults.
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

Dataset images() { return samples(40, {8, 6, 1}); }

/// Returns "quantizer: fault" of each finding.
std::vector<std::string> found(const Model& model,
                               const QuantizerCheckOptions& options = {}) {
  std::vector<std::string> result;
  for (const QuantizerFinding& each :
       check_quantizers(model, images(), options)) {
    result.push_back(each.quantizer + ": " +
                     std::string(to_string(each.fault)));
    EXPECT_EQ(quoted_names(each.text).at(0), each.quantizer);
    EXPECT_LT(without_hint(each.text).size(), each.text.size());
    EXPECT_GT(each.share, 0);
    EXPECT_LE(each.share, 1);
  }
  return result;
}

Tensor weight(const Model& model, const std::string& layer) {
  return model.layer(layer).parameter("kernel").variable.value().clone();
}
void set_weight(Model& model, const std::string& layer, const Tensor& value) {
  model.layer(layer).parameter("kernel").variable.assign(value);
}

TEST(CheckQuantizers, FindsNothingInASoundModel) {
  const Model model = calibrated_quickstart();
  EXPECT_THAT(found(model), IsEmpty());
}

TEST(CheckQuantizers, LeavesTheModelUnchanged) {
  const Model model = calibrated_quickstart();
  const auto before = scales(model);
  const Tensor x = noise({3, 8, 6, 1});
  const Tensor y = model.predict(x);
  (void)found(model);
  EXPECT_EQ(scales(model), before);
  EXPECT_EQ(bits(model.predict(x)), bits(y));
  for (const auto& q : quantizers(model)) EXPECT_FALSE(q->observing());
}

TEST(CheckQuantizers, FindsAllZeroChannels) {
  Model model = calibrated_quickstart();
  Tensor w = weight(model, "quant_conv2d");  // [3,3,1,4]
  for (size_t i = 1; i < w.f32().size(); i += 4) w.f32()[i] = 0;
  set_weight(model, "quant_conv2d", w);
  const auto findings = check_quantizers(model, images());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].quantizer, "conv2d/kernel");
  EXPECT_EQ(findings[0].fault, QuantizerFault::zeros);
  EXPECT_EQ(findings[0].share, 0.25);
  EXPECT_THAT(numbers_in(without_hint(findings[0].text)), ElementsAre(1, 4));
}

TEST(CheckQuantizers, FindsClippedValues) {
  Model model = calibrated_quickstart();
  const auto q = quantizer(model, "flatten");
  q->set_scale(*q->scale() / 8);
  EXPECT_THAT(found(model), ::testing::ElementsAre("flatten: clipped"));
  EXPECT_THAT(found(model, {.clipped = 1}), IsEmpty());
}

TEST(CheckQuantizers, CountsClippedWeightsExactly) {
  Model model =
      quantize_model(quickstart(), {.weight = {.narrow_range = true,
                                               .per_channel = true,
                                               .rule = ScaleRule::fixed}});
  calibrate(model, images());
  EXPECT_THAT(found(model), IsEmpty());
  const auto q = quantizer(model, "dense/kernel");
  std::vector<float> scales = q->scales();
  scales[0] /= 10;
  q->set_scales(scales);
  const Tensor w = weight(model, "quant_dense");
  int64_t beyond = 0;
  for (size_t i = 0; i < w.f32().size(); i += 3) {
    beyond += std::fabs(w.f32()[i] / scales[0]) > 127.5f ? 1 : 0;
  }
  const auto findings = check_quantizers(model, images());
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].fault, QuantizerFault::clipped);
  EXPECT_DOUBLE_EQ(findings[0].share,
                   static_cast<double>(beyond) / static_cast<double>(w.size()));
}

TEST(CheckQuantizers, FindsScalesThatRoundAllValuesToZero) {
  Model model = calibrated_quickstart();
  quantizer(model, "flatten")->set_scale(1e6f);
  EXPECT_THAT(found(model), ::testing::Contains("flatten: zero codes"));
}

TEST(CheckQuantizers, FindsADeadActivation) {
  Model model = calibrated_quickstart();
  // No image overcomes the bias: ReLU outputs only zeros.
  Tensor beta = Tensor::zeros({4});
  for (float& b : beta.f32()) b = -1e6f;
  model.layer("batch_normalization").parameter("beta").variable.assign(beta);
  EXPECT_THAT(found(model), ::testing::Contains("flatten: zeros"));
}

TEST(CheckQuantizers, FindsNanByName) {
  Model model = calibrated_quickstart();
  Tensor w = weight(model, "quant_conv2d");
  w.f32()[0] = std::numeric_limits<float>::quiet_NaN();
  set_weight(model, "quant_conv2d", w);
  EXPECT_THAT(found(model), ::testing::Contains("conv2d/kernel: not finite"));
}

TEST(CheckQuantizers, FindsNanOfActivationsByName) {
  Model model = calibrated_quickstart();
  Tensor gamma = Tensor::zeros({4});
  gamma.f32()[2] = std::numeric_limits<float>::infinity();
  model.layer("batch_normalization").parameter("gamma").variable.assign(gamma);
  EXPECT_THAT(found(model), ::testing::Contains("flatten: not finite"));
}

TEST(CheckQuantizers, FindsScalesThatCollapsed) {
  for (const ScaleRule rule : {ScaleRule::learned, ScaleRule::learned_log2}) {
    Model model = quantize_model(
        quickstart(),
        {.activation = {.rule = rule},
         .weight = {.narrow_range = true, .per_channel = true, .rule = rule}});
    calibrate(model, images());
    EXPECT_THAT(found(model), IsEmpty());
    const auto q = quantizer(model, "flatten");
    q->scale_parameter().assign(Tensor::scalar(-100));
    EXPECT_EQ(q->scales_at_floor(), 1);
    EXPECT_THAT(found(model), ::testing::Contains("flatten: collapsed"));
  }
}

TEST(CheckQuantizers, FindsScalesThatAreNotFinite) {
  Model model = quantize_model(quickstart(),
                               {.activation = {.rule = ScaleRule::learned}});
  calibrate(model, images());
  quantizer(model, "flatten")
      ->scale_parameter()
      .assign(Tensor::scalar(std::nanf("")));
  EXPECT_THAT(found(model), ::testing::Contains("flatten: not finite"));
}

TEST(CheckQuantizers, IgnoresDisabledQuantizers) {
  Model model = calibrated_quickstart();
  quantizer(model, "flatten")->set_scale(1e6f);
  quantizer(model, "flatten")->set_enabled(false);
  EXPECT_THAT(found(model), IsEmpty());
}

TEST(CheckQuantizers, AcceptsScalesThatTrainingWillSet) {
  const Model model =
      quantize_model(quickstart(), {.activation = {.rule = ScaleRule::ema}});
  EXPECT_THAT(found(model), IsEmpty());
}

TEST(CheckQuantizers, RefusesInvalidModelsAndOptions) {
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)check_quantizers(quickstart(), images()); }),
            (Failure{"not_quantized", "check_quantizers"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)check_quantizers(quantize_model(quickstart()), images());
            }),
            (Failure{"not_calibrated", "check_quantizers"}));
  const Model model = calibrated_quickstart();
  for (const double clipped : {0.0, -1.0, 5.0, std::nan("")}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)check_quantizers(model, images(), {.clipped = clipped});
              }),
              (Failure{"out_of_range", "check_quantizers"}));
  }
  EXPECT_THROW((void)check_quantizers(model, images(), {.batch_size = 0}),
               ValueError);
  EXPECT_THROW((void)check_quantizers(model, samples(3, {5, 5, 1})),
               ShapeError);
}

}  // namespace
}  // namespace octet::quant
