// Composite functions that correspond to single Keras layers, against Keras.
#include <cmath>

#include <gtest/gtest.h>

#include "golden.h"
#include "support.h"

namespace octet {
namespace {

// Sums of k <= 12 terms through four projections and a softmax in float32;
// Keras computed in float64.
constexpr float kTolerance = 4e-6f;

void expect_near(const Tensor& expected, const Tensor& actual,
                 const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  float largest = 1;
  for (const float value : expected.f32()) {
    largest = std::max(largest, std::fabs(value));
  }
  for (size_t i = 0; i < expected.f32().size(); ++i) {
    ASSERT_NEAR(actual.f32()[i], expected.f32()[i], kTolerance * largest)
        << what << " at index " << i;
  }
}

/// "query/kernel" of the case is "kernel" of the layer "mha/query", with the
/// axes of heads and features merged.
Variable parameter_of(const Model& model, const std::string& keras_name) {
  const size_t slash = keras_name.find('/');
  return model.layer("mha/" + keras_name.substr(0, slash))
      .parameter(keras_name.substr(slash + 1))
      .variable;
}

Model attention_model(const GoldenCase& c) {
  std::vector<SymbolicTensor> x;
  for (const GoldenArray& array : c.inputs) {
    x.push_back(input(array.value.shape().slice(1, 3)));
  }
  const auto y = multi_head_attention(
      x[0], x[1], x[2],
      {.num_heads = c.config.at("num_heads").as_int(),
       .key_dim = c.config.at("key_dim").as_int(),
       .value_dim = c.config.at("value_dim").as_int(),
       .dropout = static_cast<float>(c.config.at("dropout").as_number()),
       .use_bias = c.config.at("use_bias").as_bool(),
       .name = "mha"});
  Model model(x, {y});
  for (const GoldenArray& weight : c.weights) {
    const Variable parameter = parameter_of(model, weight.name);
    parameter.assign(weight.value.reshaped(parameter.shape()));
  }
  return model;
}

TEST(MultiHeadAttention, MatchesGoldenCases) {
  const auto cases = read_goldens("composites");
  ASSERT_FALSE(cases.empty());
  for (const GoldenCase& c : cases) {
    SCOPED_TRACE(c.name);
    ASSERT_EQ(c.class_name, "MultiHeadAttention");
    const Model model = attention_model(c);
    std::vector<Variable> x;
    for (const GoldenArray& array : c.inputs) {
      x.emplace_back(array.value.clone(), true);
    }
    const Variable y = model(x)[0];
    expect_near(c.output, y.value(), "output");
    record("weigh", {y}, Tensor::scalar(0), [&](const Tensor&) {
      return std::vector{c.upstream};
    }).backward();
    for (size_t i = 0; i < x.size(); ++i) {
      expect_near(c.input_gradients[i].value, x[i].grad(),
                  fmt::format("gradient of input {}", i));
    }
    for (const GoldenArray& gradient : c.weight_gradients) {
      expect_near(gradient.value, parameter_of(model, gradient.name).grad(),
                  "gradient of " + gradient.name);
    }
  }
}

}  // namespace
}  // namespace octet
