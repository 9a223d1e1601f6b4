#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;
using ::testing::StartsWith;

/// Samples [8,6,1] with quickstart()'s predictions as labels and an outlier in
/// one pixel.
Dataset labelled(int64_t n, float outlier = 1) {
  const Model model = quickstart();
  Tensor inputs = noise({n, 8, 6, 1}, 5);
  inputs.f32()[3] = outlier;
  const Tensor outputs = model.predict(inputs);
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    const auto row = outputs.f32().subspan(static_cast<size_t>(3 * i), 3);
    labels.data<int64_t>()[static_cast<size_t>(i)] =
        std::ranges::max_element(row) - row.begin();
  }
  return Dataset(inputs, labels);
}

const CalibrationTrial& kept(const AutoCalibration& result) {
  return *std::ranges::find(result.trials, result.selected,
                            &CalibrationTrial::method);
}

TEST(CalibrateAuto, TriesAllMethodsAndTheirBestPerTensor) {
  Model model = quantize_model(quickstart());
  const AutoCalibration result = auto_calibrate(model, labelled(80));
  std::vector<std::string> methods;
  for (const CalibrationTrial& trial : result.trials) {
    methods.push_back(trial.method);
    EXPECT_TRUE(trial.score.has_value());
  }
  EXPECT_THAT(methods,
              ::testing::ElementsAre("max", "percentile 99.9",
                                     "percentile 99.99", "percentile 99.999",
                                     "mse", "entropy", "best per tensor"));
  EXPECT_EQ(result.samples, 60);
  EXPECT_EQ(result.held_out, 20);
  EXPECT_EQ(result.float_score, 1.0);  // labels are its predictions
}

// One of 20 samples is five points: accuracy does not select.
TEST(CalibrateAuto, KeepsTheBestOutputsWithAndWithoutLabels) {
  const Batch all = labelled(80, 40).batch(0, 80);
  std::vector<std::string> found;
  for (const Dataset& data : {Dataset(all.input(), all.label()),
                              Dataset::unlabeled({{"image", all.input()}})}) {
    Model model = quantize_model(quickstart());
    const AutoCalibration result = auto_calibrate(model, data);
    for (const CalibrationTrial& trial : result.trials) {
      EXPECT_LE(trial.output_sqnr, kept(result).output_sqnr);
    }
    found.push_back(result.selected);
  }
  EXPECT_EQ(found[0], found[1]);
}

TEST(CalibrateAuto, KeepsTheBestOutputsOfEqualScores) {
  Model model = quantize_model(quickstart());
  const AutoCalibration result = auto_calibrate(
      model, labelled(80, 40),
      {.score = [](const Model&, const Dataset&) { return 1.0; }});
  for (const CalibrationTrial& trial : result.trials) {
    EXPECT_LE(trial.output_sqnr, kept(result).output_sqnr);
  }
}

// An output of small values and an output of large values.
TEST(CalibrateAuto, WeighsOutputsEqually) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor large = Dense({.units = 2, .name = "large"})(x);
  const SymbolicTensor small = Dense({.units = 2, .name = "small"})(x);
  Model net({x}, {large, small});
  const Variable& kernel = net.layer("large").parameter("kernel").variable;
  Tensor scaled = kernel.value().clone();
  for (float& w : scaled.f32()) w *= 1e4f;
  Variable(kernel).assign(scaled);
  Model model = quantize_model(net);
  const Dataset data = Dataset::unlabeled({{"x", noise({40, 6})}});
  const AutoCalibration result =
      auto_calibrate(model, data, {.methods = {{.method = Calibration::max}}});
  const Dataset held_out = data.hold_out(0.25).second;
  const Tensor samples = held_out.batch(0, held_out.size()).input();
  const auto exact = net.predict(std::span(&samples, 1));
  const auto rounded = model.predict(std::span(&samples, 1));
  double ratio = 0;
  for (size_t k = 0; k < 2; ++k) {
    double signal = 0, noise = 0;
    for (size_t i = 0; i < exact[k].f32().size(); ++i) {
      const double e = double{rounded[k].f32()[i]} - exact[k].f32()[i];
      signal += double{exact[k].f32()[i]} * exact[k].f32()[i];
      noise += e * e;
    }
    ratio += noise / signal / 2;
  }
  EXPECT_NEAR(result.trials[0].output_sqnr, -10 * std::log10(ratio), 1e-6);
}

TEST(CalibrateAuto, SetsTheScalesOfTheSelectedMethod) {
  Model model = quantize_model(quickstart());
  const Dataset data = labelled(80);
  const AutoCalibration result =
      auto_calibrate(model, data, {.methods = {{.method = Calibration::mse}}});
  EXPECT_EQ(result.selected, "mse");
  Model expected = quantize_model(quickstart());
  calibrate(expected, data.hold_out(0.25).first, {.method = Calibration::mse});
  EXPECT_EQ(scales(model), scales(expected));
  ASSERT_EQ(result.tensors.size(), 2u);
  EXPECT_EQ(result.tensors[1].quantizer, "flatten");
  EXPECT_EQ(result.tensors[1].scale, quantizer(model, "flatten")->scale());
  EXPECT_EQ(result.tensors[1].method, "mse");
}

TEST(CalibrateAuto, MeasuresTheSqnrOfTensorsByItsDefinition) {
  Model model = quantize_model(quickstart());
  const Dataset data = labelled(40);
  const AutoCalibration result = auto_calibrate(
      model, data,
      {.methods = {{.method = Calibration::max}}, .batch_size = 3});
  const Dataset held_out = data.hold_out(0.25).second;
  const Tensor x = held_out.batch(0, held_out.size()).input();
  double signal = 0;
  double error = 0;
  for (const float v : x.f32()) {
    const double e = double{rounded_to(v, result.tensors[0].scale)} - v;
    signal += double{v} * v;
    error += e * e;
  }
  EXPECT_EQ(result.tensors[0].quantizer, "image");
  EXPECT_NEAR(result.tensors[0].sqnr, 10 * std::log10(signal / error), 1e-6);
}

TEST(CalibrateAuto, MeasuresTheSqnrOfTheOutputs) {
  Model model = quantize_model(quickstart());
  const Dataset data = labelled(40);
  const AutoCalibration result = auto_calibrate(
      model, data, {.methods = {{.method = Calibration::entropy}}});
  const Dataset held_out = data.hold_out(0.25).second;
  const Tensor x = held_out.batch(0, held_out.size()).input();
  const Tensor exact = quickstart().predict(x);
  const Tensor rounded = model.predict(x);
  double signal = 0;
  double error = 0;
  for (size_t i = 0; i < exact.f32().size(); ++i) {
    const double e = double{rounded.f32()[i]} - exact.f32()[i];
    signal += double{exact.f32()[i]} * exact.f32()[i];
    error += e * e;
  }
  EXPECT_NEAR(result.trials[0].output_sqnr, 10 * std::log10(signal / error),
              1e-6);
}

// Labels that are not classes, and labels of a single class.
TEST(CalibrateAuto, HasNoScoreWithoutClasses) {
  const Tensor inputs = noise({40, 8, 6, 1});
  for (const Dataset& data :
       {Dataset(inputs, Tensor::zeros({40, 3})),
        Dataset(inputs, Tensor::zeros({40}, DType::i64))}) {
    Model model = quantize_model(quickstart());
    const AutoCalibration result = auto_calibrate(model, data);
    EXPECT_FALSE(kept(result).score.has_value());
    EXPECT_EQ(result.score_name, "");
    EXPECT_THAT(lines_of(result.to_string()),
                Contains(StartsWith("> " + result.selected)));
  }
}

TEST(CalibrateAuto, DoesNotSplitFewSamples) {
  for (const int64_t n : {1, 2, 3}) {
    const WarningCapture warnings;
    Model model = quantize_model(quickstart());
    const AutoCalibration result = auto_calibrate(
        model, Dataset::unlabeled({{"image", noise({n, 8, 6, 1})}}));
    EXPECT_EQ(result.samples, n);
    EXPECT_EQ(result.held_out, n);
    EXPECT_TRUE(result.same_samples);
    EXPECT_THAT(warnings.messages,
                Contains(Failure{"too_few_samples", "auto_calibrate"}));
  }
}

// One channel has all of the range, the others all of the information.
TEST(CalibrateAuto, WarnsOfAHighLoss) {
  const SymbolicTensor x = input({4}, "x");
  Model net(x, Dense({.units = 3, .use_bias = false, .name = "y"})(x));
  Tensor inputs = noise({80, 4});
  Tensor kernel = noise({4, 3}, 9);
  for (size_t n = 0; n < 80; ++n) inputs.f32()[4 * n] *= 1e4f;
  for (size_t k = 0; k < 3; ++k) kernel.f32()[k] = 0;
  net.layer("y").parameter("kernel").variable.assign(kernel);
  const WarningCapture warnings;
  Model model = quantize_model(net);
  const auto result =
      auto_calibrate(model, Dataset::unlabeled({{"x", inputs}}));
  EXPECT_LT(kept(result).output_sqnr, 15);
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"low_sqnr", "auto_calibrate"}));
}

TEST(CalibrateAuto, SelectsByTheScoreFunction) {
  // The score is the negated distance from a method's scale; each method is
  // preferred once.
  const Dataset data = labelled(80, 40);
  Model model = quantize_model(quickstart());
  const AutoCalibration all = auto_calibrate(model, data);
  for (const CalibrationOptions& method : calibration_methods()) {
    Model alone = quantize_model(quickstart());
    auto_calibrate(alone, data, {.methods = {method}});
    const auto wanted = scales(alone);
    const AutoCalibration result = auto_calibrate(
        model, data, {.score = [&](const Model& m, const Dataset& held_out) {
          EXPECT_EQ(held_out.size(), 20);
          return scales(m) == wanted ? 1.0 : 0.0;
        }});
    EXPECT_EQ(scales(model), wanted);
    EXPECT_EQ(kept(result).score, 1.0);
    EXPECT_EQ(result.score_name, "score");
  }
}

TEST(CalibrateAuto, RestoresScalesIfTheScoreThrows) {
  Model model = calibrated_quickstart();
  const auto before = scales(model);
  EXPECT_THROW(
      auto_calibrate(model, labelled(80),
                     {.score = [](const Model&, const Dataset&) -> double {
                       throw std::runtime_error("no score");
                     }}),
      std::runtime_error);
  EXPECT_EQ(scales(model), before);
  for (const auto& q : quantizers(model)) {
    EXPECT_TRUE(q->enabled());
    EXPECT_FALSE(q->observing());
  }
}

TEST(CalibrateAuto, ReportsTheLargestLossAndMarksTheSelectedMethod) {
  Model model = quantize_model(quickstart());
  const AutoCalibration result = auto_calibrate(model, labelled(80, 40));
  const std::string text = result.to_string();
  const auto worst =
      std::ranges::min_element(result.tensors, {}, &TensorCalibration::sqnr);
  EXPECT_THAT(quoted_names(text), ElementsAre(worst->quantizer));
  EXPECT_THAT(lines_of(text), Contains(StartsWith("> " + result.selected)));
  EXPECT_EQ(result.samples, 60);
  EXPECT_THAT(numbers_in(text), Contains(60));
}

TEST(CalibrateAuto, IsIndependentOfTheNumberOfThreads) {
  const ThreadCountGuard restored;
  const auto run = [](int threads) {
    set_num_threads(threads);
    Model model = quantize_model(quickstart());
    return auto_calibrate(model, labelled(80)).to_string();
  };
  EXPECT_EQ(run(3), run(1));
}

TEST(CalibrateAuto, RefusesOptionsOutOfRange) {
  const Dataset data = labelled(20);
  const auto refusal = [&](const AutoCalibrationOptions& options) {
    Model model = quantize_model(quickstart());
    return failure_of<ValueError>(
        [&] { auto_calibrate(model, data, options); });
  };
  EXPECT_EQ(refusal({.methods = {}}),
            (Failure{"missing_value", "auto_calibrate"}));
  for (const double share :
       {0.0, 1.0, -0.1, std::numeric_limits<double>::quiet_NaN()}) {
    EXPECT_EQ(refusal({.held_out = share}),
              (Failure{"out_of_range", "auto_calibrate"}));
  }
  Model model = quantize_model(quickstart());
  EXPECT_THROW(auto_calibrate(model, data, {.held_out = 0.001}), ValueError);
  EXPECT_EQ(refusal({.score =
                         [](const Model&, const Dataset&) {
                           return std::numeric_limits<double>::quiet_NaN();
                         }}),
            (Failure{"not_finite", "auto_calibrate"}));
  Model plain = quickstart();
  EXPECT_EQ(failure_of<ValueError>([&] { auto_calibrate(plain, data); }),
            (Failure{"not_quantized", "calibrate"}));
}

TEST(CalibrateAuto, RefusesLabelsOutOfRange) {
  Tensor labels(Shape{8}, DType::i64);
  for (int64_t i = 0; i < 8; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = 1 + i % 3;
  }
  Model model = quantize_model(quickstart());
  EXPECT_EQ(failure_of<ValueError>([&] {
              auto_calibrate(model, Dataset(noise({8, 8, 6, 1}), labels),
                             {.held_out = 0.5});
            }),
            (Failure{"out_of_range", "auto_calibrate"}));
}

TEST(CalibrateAuto, ChecksAllLabelsBeforeSampling) {
  const Batch all = labelled(80).batch(0, 80);
  for (size_t wrong = 0; wrong < 80; wrong += 7) {
    Tensor labels = all.label().clone();
    labels.data<int64_t>()[wrong] = 3;
    Model model = quantize_model(quickstart());
    EXPECT_EQ(failure_of<ValueError>([&] {
                (void)auto_calibrate(model, Dataset(all.input(), labels),
                                     {.samples = 20});
              }),
              (Failure{"out_of_range", "auto_calibrate"}));
  }
}

TEST(CalibrateAuto, WarnsOfLabelsOfOtherSamples) {
  const Batch all = labelled(80).batch(0, 80);
  Tensor labels = all.label().clone();
  for (int64_t& label : labels.data<int64_t>()) label = (label + 1) % 3;
  WarningCapture warnings;
  Model model = quantize_model(quickstart());
  (void)auto_calibrate(model, Dataset(all.input(), labels));
  EXPECT_THAT(warnings.messages,
              Contains(Failure{"chance_accuracy", "auto_calibrate"}));
  warnings.messages.clear();
  Model other = quantize_model(quickstart());
  (void)auto_calibrate(other, Dataset(all.input(), all.label()));
  EXPECT_THAT(warnings.messages,
              Not(Contains(Failure{"chance_accuracy", "auto_calibrate"})));
}

}  // namespace
}  // namespace octet::quant
