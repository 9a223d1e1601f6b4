// Acceptance of quantized models.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/sensitivity.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// y = [a x0, b x1, c x2], or its softmax.
Model scaled(std::vector<float> factors, const char* activation = "linear") {
  const auto width = static_cast<int64_t>(factors.size());
  const SymbolicTensor x = input({width}, "x");
  Model model(
      x, Dense({.units = width, .activation = activation, .name = "y"})(x));
  Tensor kernel = Tensor::zeros({width, width});
  for (size_t i = 0; i < factors.size(); ++i) {
    kernel.f32()[i * factors.size() + i] = factors[i];
  }
  model.layer("y").parameter("kernel").variable.assign(kernel);
  return model;
}

Dataset rows(const Tensor& x) { return Dataset::unlabeled({{"x", x}}); }

TEST(CompareOutputs, ReportsTheSqnrByItsDefinition) {
  // Outputs are half a percent too large: 20 log10(200) dB per sample.
  const OutputComparison found =
      compare_outputs(scaled({1, 1}), scaled({1.005f, 1.005f}),
                      rows(noise({7, 2})), {.batch_size = 3});
  ASSERT_EQ(found.outputs.size(), 1u);
  EXPECT_EQ(found.samples, 7);
  EXPECT_EQ(found.outputs[0].output, "y");
  EXPECT_NEAR(found.sqnr(), 20 * std::log10(200), 1e-3);
  EXPECT_NEAR(found.median_sqnr(), 20 * std::log10(200), 1e-3);
  EXPECT_FALSE(found.agreement());
  EXPECT_TRUE(found.sufficient());
}

// A damaged sample dominates the pooled SQNR.
TEST(CompareOutputs, FindsErrorsHiddenByASingleSample) {
  Tensor x = Tensor::zeros({100, 2});
  for (size_t n = 0; n < 100; ++n) x.f32()[2 * n + 1] = 1;
  x.f32()[0] = 1e6f;
  const OutputComparison found =
      compare_outputs(scaled({1, 1}), scaled({1, 0}), rows(x));
  EXPECT_GT(found.sqnr(), 90);
  EXPECT_NEAR(found.median_sqnr(), 0, 1e-6);
  EXPECT_FALSE(found.sufficient());
  EXPECT_THAT(found.problems(), HasSubstr("median"));
}

// Samples without a signal, e.g. heat maps without an object.
TEST(CompareOutputs, IgnoresSamplesWithoutASignal) {
  Tensor x = Tensor::full({100, 2}, 1e-6f);
  for (size_t n = 0; n < 30; ++n) x.f32()[2 * n] = 1;
  Model quantized = scaled({1, 1});
  quantized.layer("y").parameter("bias").variable.assign(
      tensor({2}, {1e-3f, 1e-3f}));
  const OutputComparison found =
      compare_outputs(scaled({1, 1}), quantized, rows(x));
  EXPECT_GT(found.median_sqnr(), 50);
  EXPECT_TRUE(found.sufficient());
}

TEST(CompareOutputs, ComparesClassesOfClassOutputs) {
  // The quantized model selects the second class in three of ten samples.
  Tensor x({10, 2});
  for (size_t n = 0; n < 10; ++n) {
    x.f32()[2 * n] = 1;
    x.f32()[2 * n + 1] = n < 3 ? 0.95f : 0.5f;
  }
  const Model quantized = scaled({1, 1.1f});
  EXPECT_FALSE(compare_outputs(scaled({1, 1}), quantized, rows(x)).agreement());
  const OutputComparison labelled = compare_outputs(
      scaled({1, 1}), quantized, Dataset(x, Tensor::zeros({10}, DType::i64)));
  EXPECT_NEAR(*labelled.agreement(), 0.7, 1e-12);
  EXPECT_GT(labelled.sqnr(), 15);
  EXPECT_THAT(numbers_in(labelled.problems()), Contains(70));
  const OutputComparison softmax = compare_outputs(
      scaled({1, 1}, "softmax"), scaled({1, 1.1f}, "softmax"), rows(x));
  EXPECT_NEAR(*softmax.agreement(), 0.7, 1e-12);
  EXPECT_FALSE(softmax.sufficient());
}

// Class labels of one output do not make the other one a class output.
TEST(CompareOutputs, MatchesLabelsWithOutputsByName) {
  const auto model = [](float factor) {
    const SymbolicTensor x = input({2}, "x");
    const SymbolicTensor scores = Dense({.units = 2, .name = "scores"})(x);
    const SymbolicTensor size = Dense({.units = 2, .name = "size"})(x);
    Model made({x}, {scores, size});
    for (const char* name : {"scores", "size"}) {
      made.layer(name).parameter("kernel").variable.assign(
          tensor({2, 2}, {1, 0, 0, factor}));
    }
    return made;
  };
  const Dataset data(
      {{"x", noise({10, 2})}},
      std::vector<NamedTensor>{{"scores", Tensor::zeros({10}, DType::i64)},
                               {"size", Tensor::zeros({10, 2})}});
  const OutputComparison found = compare_outputs(model(1), model(1.01f), data);
  ASSERT_EQ(found.outputs.size(), 2u);
  EXPECT_EQ(found.outputs[0].compared, 10);
  EXPECT_TRUE(found.outputs[0].agreement);
  EXPECT_FALSE(found.outputs[1].agreement);
}

TEST(CompareOutputs, AcceptsASingleDisagreement) {
  const Tensor x = tensor({2, 2}, {1, 0.95f, 1, 0.5f});
  const OutputComparison found = compare_outputs(
      scaled({1, 1}, "softmax"), scaled({1, 1.1f}, "softmax"), rows(x));
  EXPECT_EQ(found.agreement(), 0.5);
  EXPECT_TRUE(found.sufficient()) << found.problems();
}

TEST(CompareOutputs, AcceptsAnyClassOfATie) {
  const Tensor x = Tensor::full({20, 2}, 1);
  const OutputComparison found = compare_outputs(
      scaled({1, 1}, "softmax"), scaled({1, 1.01f}, "softmax"), rows(x));
  EXPECT_EQ(found.agreement(), 1.0);
}

TEST(CompareOutputs, ComparesASingleProbabilityByItsSide) {
  Tensor x({8, 1});
  for (size_t n = 0; n < 8; ++n) x.f32()[n] = n % 2 == 0 ? 1.0f : -1.0f;
  const Model quantized = scaled({-1}, "sigmoid");
  const OutputComparison found =
      compare_outputs(scaled({1}, "sigmoid"), quantized, rows(x));
  EXPECT_EQ(found.agreement(), 0.0);
  EXPECT_FALSE(found.sufficient());
}

TEST(CompareOutputs, RejectsNan) {
  Model quantized = scaled({1, 1});
  quantized.layer("y").parameter("bias").variable.assign(tensor({2}, {NAN, 0}));
  const OutputComparison found =
      compare_outputs(scaled({1, 1}), quantized, rows(noise({5, 2})));
  EXPECT_FALSE(found.sufficient());
}

TEST(CompareOutputs, RejectsASingleBadOutput) {
  const auto two = [](float factor) {
    const SymbolicTensor x = input({2}, "x");
    Model model({x}, {Dense({.units = 2, .name = "boxes"})(x),
                      Dense({.units = 2, .name = "scores"})(x)});
    set_diagonal(model.layer("boxes"), 1000);
    set_diagonal(model.layer("scores"), factor);
    return model;
  };
  const OutputComparison found =
      compare_outputs(two(1), two(2), rows(noise({9, 2})));
  EXPECT_NEAR(found.sqnr(), 0, 1e-6);
  EXPECT_THAT(quoted_names(found.problems()), ElementsAre("scores"));
  EXPECT_THAT(found.to_string(), HasSubstr("exact"));
}

TEST(CompareOutputs, RefusesDifferentModelsAndInvalidOptions) {
  const Model model = scaled({1, 1});
  const Dataset data = rows(noise({4, 2}));
  EXPECT_THROW((void)compare_outputs(model, model, data, {.batch_size = 0}),
               ValueError);
  EXPECT_THROW(
      (void)compare_outputs(model, model, data, {.min_agreement = 1.5}),
      ValueError);
  EXPECT_THROW((void)compare_outputs(model, model, rows(noise({4, 3}))), Error);
}

}  // namespace
}  // namespace octet::quant
