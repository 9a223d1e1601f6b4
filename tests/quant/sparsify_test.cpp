// N:M sparsity of kernels.
#include <algorithm>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../support.h"
#include "pruned_network.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// "stem" has 3 inputs, "body" 8 in two groups, "logits" 8.
Model sparse_candidate() {
  const SymbolicTensor x = input({6, 6, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 8, .kernel_size = {3, 3}, .name = "stem"})(x);
  y = BatchNormalization({.name = "bn"})(y);
  y = Conv2D(
      {.filters = 8, .kernel_size = {3, 3}, .groups = 2, .name = "body"})(y);
  y = GlobalAveragePooling2D()(y);
  return Model(x, Dense({.units = 2, .name = "logits"})(y));
}

Tensor kernel(const Model& model, const char* layer) {
  return std::as_const(model.layer(layer).parameter("kernel").variable).value();
}

// By definition: at most 2 of 4 consecutive inputs, for each tap and output.
void expect_two_of_four(const Tensor& kernel) {
  const auto dims = kernel.shape().dims();
  const int64_t outputs = dims[dims.size() - 1];
  const int64_t inputs = dims[dims.size() - 2];
  const int64_t taps = kernel.size() / (inputs * outputs);
  for (int64_t t = 0; t < taps; ++t) {
    for (int64_t m = 0; m < outputs; ++m) {
      for (int64_t first = 0; first < inputs; first += 4) {
        int zeros = 0;
        for (int64_t k = first; k < first + 4; ++k) {
          const auto at = static_cast<size_t>((t * inputs + k) * outputs + m);
          zeros += kernel.f32()[at] == 0 ? 1 : 0;
        }
        EXPECT_EQ(zeros, 2) << "tap " << t << ", output " << m;
      }
    }
  }
}

TEST(Sparsify, KeepsTheLargestOfEachGroup) {
  const SymbolicTensor x = input({4}, "x");
  Model model(x, Dense({.units = 2, .name = "d"})(x));
  // Columns are outputs: 1, -4, 3, 2 and 5, 0, 0, 6.
  Variable(model.layer("d").parameter("kernel").variable)
      .assign(Tensor::of({4, 2},
                         {1.0f, 5.0f, -4.0f, 0.0f, 3.0f, 0.0f, 2.0f, 6.0f}));
  const auto report = sparsify(model);
  const Tensor pruned = kernel(model, "d");
  EXPECT_THAT(pruned.f32(), ElementsAre(0, 5, -4, 0, 3, 0, 0, 6));
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].zeros, 4);
  EXPECT_EQ(report[0].size, 8);
}

TEST(Sparsify, FollowsTheInputsOfEachTap) {
  Model model = sparse_candidate();
  const auto report = sparsify(model);
  ASSERT_EQ(report.size(), 3u);
  EXPECT_EQ(report[0].layer, "stem");
  EXPECT_FALSE(report[0].skipped.empty());
  EXPECT_EQ(report[0].zeros, 0);
  EXPECT_THAT(report[1].skipped, IsEmpty());
  EXPECT_EQ(2 * report[1].zeros, report[1].size);
  EXPECT_EQ(2 * report[2].zeros, report[2].size);
  expect_two_of_four(kernel(model, "body"));
  expect_two_of_four(kernel(model, "logits"));
}

TEST(Sparsify, IsIdempotent) {
  Model model = sparse_candidate();
  sparsify(model);
  const Tensor before = kernel(model, "body").clone();
  sparsify(model);
  const Tensor after = kernel(model, "body");
  EXPECT_TRUE(std::ranges::equal(before.f32(), after.f32()));
}

TEST(Sparsify, TreatsTheNamedLayersOnly) {
  Model model = sparse_candidate();
  const auto report = sparsify(model, {.layers = {"logits"}});
  EXPECT_EQ(report[1].zeros, 0);
  EXPECT_EQ(2 * report[2].zeros, report[2].size);
}

TEST(Sparsify, SurvivesFoldingAndQuantization) {
  Model model = sparse_candidate();
  sparsify(model);
  const Model int8 = quantize_model(fold_batch_norm(model));
  expect_two_of_four(kernel(fold_batch_norm(model), "body"));
  expect_two_of_four(kernel(int8, "quant_body"));
}

// ONNX export reorders the inputs of "flat": the file would not match.
TEST(Sparsify, SkipsFlattenedImages) {
  const SymbolicTensor x = input({4, 4, 4}, "x");
  SymbolicTensor y = Dropout({.rate = 0.5f})(Flatten()(x));
  y = Dense({.units = 8, .name = "flat"})(y);
  Model model(x, Dense({.units = 2, .name = "logits"})(y));
  const auto report = sparsify(model);
  EXPECT_FALSE(report[0].skipped.empty());
  EXPECT_EQ(report[0].zeros, 0);
  EXPECT_EQ(2 * report[1].zeros, report[1].size);
  EXPECT_THROW(sparsify(model, {.layers = {"flat"}}), ValueError);
}

TEST(Sparsify, RejectsWithoutAChange) {
  Model model = sparse_candidate();
  for (const SparsityPattern pattern :
       {SparsityPattern{3, 2}, SparsityPattern{0, 4}, SparsityPattern{4, 4},
        SparsityPattern{7, 8}, SparsityPattern{2, 128}}) {
    EXPECT_THROW(sparsify(model, {.pattern = pattern}), ValueError);
  }
  EXPECT_THROW(sparsify(model, {.layers = {"stem"}}), ValueError);
  EXPECT_THROW(sparsify(model, {.layers = {"logits", "none"}}), NotFoundError);
  EXPECT_THROW(sparsify(model, {.pattern = {3, 5}}), ValueError);
  Tensor bad = kernel(model, "logits").clone();
  bad.f32()[0] = std::numeric_limits<float>::quiet_NaN();
  Variable(model.layer("logits").parameter("kernel").variable).assign(bad);
  EXPECT_THROW(sparsify(model), ValueError);
  EXPECT_EQ(kernel_zeros(model, false)[1].zeros, 0);
}

}  // namespace
}  // namespace octet::quant
