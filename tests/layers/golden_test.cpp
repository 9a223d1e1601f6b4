// Every layer against Keras: outputs, gradients and statistics; also round
// trips of configurations, clones and predict().
#include "golden.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <gtest/gtest.h>

#include <octet/runtime/system.h>

#include "support.h"

namespace octet {
namespace {

// Keras computed in float64 (a few functions in float32), so the difference is
// Octet's rounding: a sum of k <= 150 terms has an error of sqrt(k) * 6e-8 of
// its largest terms, and the values are of size 1.
constexpr float kGoldenTolerance = 2e-6f;
// Normalization divides by a deviation and subtracts similar values.
constexpr float kNormalizationTolerance = 1e-5f;

float tolerance(const GoldenCase& c) {
  return c.class_name.find("Normalization") == std::string::npos
             ? kGoldenTolerance
             : kNormalizationTolerance;
}

/// Difference relative to the largest expected value, or to 1.
void expect_near(const Tensor& expected, const Tensor& actual, float relative,
                 const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  float largest = 1;
  for (const float value : expected.f32()) {
    largest = std::max(largest, std::fabs(value));
  }
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    ASSERT_NEAR(actual.f32()[i], expected.f32()[i], relative * largest)
        << what << " at index " << i << " of " << expected.shape().to_string();
  }
}

void expect_gradient(const Tensor& expected, const Variable& leaf,
                     float relative, const std::string& what) {
  // No gradient stands for zero.
  const Tensor& gradient = leaf.grad();
  expect_near(expected,
              gradient.empty() ? Tensor::zeros(leaf.shape()) : gradient,
              relative, what);
}

/// A loss with gradient `upstream` with respect to y.
Variable loss_with(const Variable& y, const Tensor& upstream) {
  return record("weigh", {y}, Tensor::scalar(0),
                [upstream](const Tensor&) { return std::vector{upstream}; });
}

class Golden : public testing::TestWithParam<std::filesystem::path> {
 protected:
  Golden() : c_(read_golden(GetParam())), model_(golden_model(c_)) {
    // Some layers are frozen by default.
    for (const auto& layer : model_.layers()) layer->set_trainable(true);
  }

  std::vector<Variable> inputs(bool requires_grad) const {
    std::vector<Variable> result;
    for (const GoldenArray& x : c_.inputs) {
      result.emplace_back(x.value.clone(), requires_grad);
    }
    return result;
  }
  Variable weight(const GoldenArray& array) {
    return golden_layer(model_)
        .parameter(parameter_name(c_.class_name, array.name))
        .variable;
  }
  Tensor infer(const Model& model) const {
    const NoGradGuard no_grad;
    return model(inputs(false))[0].value();
  }
  void expect_pass(Mode mode, const Tensor& output,
                   const std::vector<GoldenArray>& input_gradients,
                   const std::vector<GoldenArray>& weight_gradients) {
    const auto x = inputs(true);
    const Variable y = model_(x, mode)[0];
    expect_near(output, y.value(), tolerance(c_), "output");
    // Without a gradient, all expected values are zero.
    if (y.requires_grad()) loss_with(y, c_.upstream).backward();
    ASSERT_EQ(x.size(), input_gradients.size());
    for (size_t i = 0; i < x.size(); ++i) {
      expect_gradient(input_gradients[i].value, x[i], tolerance(c_),
                      fmt::format("gradient of input {}", i));
    }
    for (const GoldenArray& gradient : weight_gradients) {
      expect_gradient(gradient.value, weight(gradient), tolerance(c_),
                      fmt::format("gradient of '{}'", gradient.name));
    }
  }

  const GoldenCase c_;
  Model model_;
};

TEST_P(Golden, HasTheWeightsOfKeras) {
  const auto parameters = golden_layer(model_).parameters();
  EXPECT_EQ(parameters.size(), c_.weights.size());
  size_t trainable = 0;
  for (const Parameter& parameter : parameters) {
    trainable += parameter.trainable;
  }
  EXPECT_EQ(trainable, c_.weight_gradients.size());
}

TEST_P(Golden, MatchesKeras) {
  expect_near(c_.output, infer(model_), tolerance(c_), "output");
}

TEST_P(Golden, MatchesTheGradientsOfKeras) {
  expect_pass(Mode::inference, c_.output, c_.input_gradients,
              c_.weight_gradients);
}

TEST_P(Golden, MatchesKerasInTraining) {
  if (c_.training_output.empty()) return;
  expect_pass(Mode::training, c_.training_output, c_.training_input_gradients,
              c_.training_weight_gradients);
  for (const GoldenArray& statistic : c_.training_statistics) {
    expect_near(statistic.value, weight(statistic).value(), tolerance(c_),
                statistic.name);
  }
}

TEST_P(Golden, RoundTripsThroughItsConfiguration) {
  const Config config = golden_layer(model_).config();
  EXPECT_EQ(create_layer(c_.class_name, config)->config(), config);
  GoldenCase again = c_;
  again.config = io::from_json(io::to_json(config));
  EXPECT_EQ(bits(infer(golden_model(again))), bits(infer(model_)));
}

TEST_P(Golden, IsEqualToItsClone) {
  EXPECT_EQ(bits(infer(model_.clone())), bits(infer(model_)));
}

TEST_P(Golden, PredictMatchesTheForwardPass) {
  std::vector<Tensor> x;
  for (const GoldenArray& array : c_.inputs) x.push_back(array.value);
  EXPECT_EQ(bits(model_.predict(x)[0]), bits(infer(model_)));
}

INSTANTIATE_TEST_SUITE_P(Layers, Golden,
                         testing::ValuesIn(golden_files("layers")),
                         [](const auto& each) {
                           return each.param.stem().string();
                         });

}  // namespace
}  // namespace octet
