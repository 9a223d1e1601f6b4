// Zeros of pruned kernels, and methods that fill them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>

#include "../facts.h"
#include "pruned_network.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(KernelZeros, AreCountedAfterQuantization) {
  const Model model = pruned_network();
  const auto zeros = kernel_zeros(model);
  ASSERT_EQ(zeros.size(), 2u);
  EXPECT_EQ(zeros[0].layer, "hidden");
  EXPECT_EQ(zeros[0].zeros, 32);
  EXPECT_EQ(zeros[0].size, 64);
  EXPECT_EQ(zeros[1].zeros, 0);
  // With two bits, values -1 to 1, more of them are zero.
  const Model coarse = pruned_int8(model, 2);
  EXPECT_GT(kernel_zeros(coarse)[0].zeros, 32);
  EXPECT_EQ(kernel_zeros(coarse)[0].layer, "hidden");
  EXPECT_EQ(kernel_zeros(coarse, false)[0].zeros, 32);
}

TEST(PrunedKernels, AreTheKernelsWithZeros) {
  Model model = pruned_network();
  const PrunedKernels pruned(model);
  ASSERT_EQ(pruned.kernels().size(), 1u);
  EXPECT_THAT(pruned.filled(model), IsEmpty());
  EXPECT_THAT(pruned.filled(pruned_int8(model)), IsEmpty());
  Variable(model.layer("hidden").parameter("kernel").variable)
      .assign(noise({8, 8}));
  // Percent of all kernels, then of the kernel.
  EXPECT_THAT(numbers_in(pruned.filled(model)), ElementsAre(50, 0, 50, 0));
  // An all-zero kernel is not pruned.
  Variable(model.layer("hidden").parameter("kernel").variable)
      .assign(Tensor::zeros({8, 8}));
  EXPECT_THAT(PrunedKernels(model).kernels(), IsEmpty());
}

TEST(PrunedKernels, SharedOnesAreCountedOnce) {
  const SymbolicTensor x = input({8}, "x");
  const auto layer = Dense({.units = 8, .name = "twice"});
  EXPECT_EQ(kernel_zeros(Model(x, layer(layer(x)))).size(), 1u);
}

TEST(PrunedKernels, AreClearedInTheModel) {
  Model model = pruned_network();
  const PrunedKernels pruned(model);
  Variable(model.layer("hidden").parameter("kernel").variable)
      .assign(noise({8, 8}));
  pruned.clear_in(model);
  EXPECT_EQ(kernel_zeros(model)[0].zeros, 32);
  EXPECT_EQ(kernel_zeros(model)[1].zeros, 0);
}

// Rounding to 3 bits would fill zeros to compensate errors of other weights.
TEST(PrunedKernels, ArePreservedByPostTrainingMethods) {
  const auto expect_preserved = [](const char* name, const auto& method) {
    SCOPED_TRACE(name);
    const Model network = pruned_network();
    const PrunedKernels pruned(network);
    Model model = pruned_int8(network, 3);
    const WarningCapture captured;
    method(model);
    // Detects a single lost zero of 64 weights; further weights round to zero.
    EXPECT_THAT(pruned.filled(model), IsEmpty());
    EXPECT_THAT(captured.messages, IsEmpty());
  };
  const Dataset data = pruned_samples();
  expect_preserved("round_weights", [&](Model& m) { round_weights(m, data); });
  expect_preserved("adaround",
                   [&](Model& m) { adaround(m, data, {.iterations = 100}); });
  expect_preserved("reconstruct_blocks", [&](Model& m) {
    reconstruct_blocks(m, data, {.iterations = 100});
  });
  expect_preserved("correct_biases",
                   [&](Model& m) { correct_biases(m, data); });
  Model equalized = pruned_network();
  equalize(equalized);
  EXPECT_EQ(kernel_zeros(equalized)[0].zeros, 32);
}

}  // namespace
}  // namespace octet::quant
