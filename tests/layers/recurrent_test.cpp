#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/ops.h>

#include "support.h"

namespace octet {
namespace {

Tensor reversed(const Tensor& x) { return flip(x, 1); }

TEST(Recurrent, OfOnesIsACumulativeSum) {
  const SimpleRNN layer({.units = 1,
                         .activation = "linear",
                         .use_bias = false,
                         .return_sequences = true});
  const Model model = single(layer, {4, 1});
  for (const Parameter& p : layer->parameters()) {
    p.variable.assign(Tensor::full(p.variable.shape(), 1));
  }
  const NoGradGuard no_grad;
  const Tensor x = Tensor::of<float>({1, 4, 1}, {1, 2, 3, 4});
  EXPECT_EQ(values(model(Variable(x))), (std::vector<float>{1, 3, 6, 10}));
}

TEST(Recurrent, StartsWithOrthogonalStatesAndAnOpenForgetGate) {
  const LSTM layer({.units = 5});
  const Model model = single(layer, {3, 2});
  std::vector<float> expected(20, 0.0f);
  std::fill_n(expected.begin() + 5, 5, 1.0f);
  EXPECT_EQ(values(layer->parameter("bias").variable), expected);
  const Tensor kernel = layer->parameter("recurrent_kernel").variable.value();
  const Tensor products = matmul(kernel, kernel, {.transpose_b = true});
  for (int64_t i = 0; i < 25; ++i) {
    // 20 products of rounded values.
    EXPECT_NEAR(products.f32()[static_cast<size_t>(i)], i % 6 == 0 ? 1 : 0,
                1e-6);
  }
}

TEST(Recurrent, DrawsOrthogonalColumnsOfTallMatrices) {
  Rng rng(3);
  Tensor matrix({6, 4});
  orthogonal(2)(matrix.f32(), 6, 4, rng);
  const Tensor products = matmul(matrix, matrix, {.transpose_a = true});
  for (int64_t i = 0; i < 16; ++i) {
    EXPECT_NEAR(products.f32()[static_cast<size_t>(i)], i % 5 == 0 ? 4 : 0,
                1e-6);
  }
  EXPECT_EQ(Initializer::from_config(orthogonal(2).config()), orthogonal(2));
}

TEST(Recurrent, ReturnsStepsInOrderOfTheInputOrOfComputation) {
  const Tensor x = noise({2, 5, 3});
  const auto run = [&](bool keep_order) {
    const GRU layer({.units = 4,
                     .return_sequences = true,
                     .go_backwards = true,
                     .keep_order = keep_order});
    const Model model = single(layer, {5, 3});
    shake(model);
    const NoGradGuard no_grad;
    return model(Variable(x)).value();
  };
  EXPECT_EQ(bits(reversed(run(true))), bits(run(false)));
}

TEST(Recurrent, DropsAFeatureAtAllStepsOfASample) {
  const SimpleRNN layer({.units = 1,
                         .activation = "linear",
                         .use_bias = false,
                         .dropout = 0.5f,
                         .return_sequences = true});
  Model model = single(layer, {4, 1});
  layer->parameter("kernel").variable.assign(Tensor::full({1, 1}, 1));
  layer->parameter("recurrent_kernel").variable.assign(Tensor::zeros({1, 1}));
  const Tensor y =
      model(Variable(Tensor::full({64, 4, 1}, 1)), Mode::training).value();
  int64_t dropped = 0;
  for (size_t i = 0; i < 64; ++i) {
    const float first = y.f32()[4 * i];
    EXPECT_TRUE(first == 0 || first == 2);
    for (size_t k = 1; k < 4; ++k) EXPECT_EQ(y.f32()[4 * i + k], first);
    dropped += first == 0;
  }
  EXPECT_GT(dropped, 10);
  EXPECT_LT(dropped, 54);
}

// Both directions, from single layers with the same weights.
TEST(Bidirectional, MergesBothDirections) {
  const Tensor x = noise({3, 5, 2});
  for (const bool sequences : {false, true}) {
    const LSTM forward({.units = 3, .return_sequences = sequences});
    const SymbolicTensor in = input({5, 2});
    const Model model(in, bidirectional(in, forward, {.name = "both"}));
    shake(model);
    EXPECT_THAT(names(model), testing::ElementsAre(testing::_, "both/forward",
                                                   "both/backward", "both"));
    const auto one = [&](const char* name, const Tensor& sequence) {
      const LSTM layer({.units = 3, .return_sequences = sequences});
      const Model single_model = single(layer, {5, 2});
      layer->copy_parameters(model.layer(name));
      const NoGradGuard no_grad;
      return single_model(Variable(sequence)).value();
    };
    Tensor back = one("both/backward", reversed(x));
    if (sequences) back = reversed(back);
    const NoGradGuard no_grad;
    EXPECT_EQ(bits(model(Variable(x))),
              bits(concatenate({one("both/forward", x), back}, -1)));
  }
}

TEST(Bidirectional, HasFourMerges) {
  for (const auto& [mode, units] : std::vector<std::pair<const char*, int64_t>>{
           {"concat", 6}, {"sum", 3}, {"mul", 3}, {"ave", 3}}) {
    EXPECT_EQ(
        bidirectional(input({5, 2}), GRU({.units = 3}), {.merge_mode = mode})
            .shape()[-1],
        units);
  }
}

TEST(Bidirectional, RejectsOtherLayersAndModes) {
  const SymbolicTensor x = input({5, 2});
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)bidirectional(x, Dense({.units = 2})); }),
            (Failure{"invalid_value", "layer"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)bidirectional(x, GRU({.units = 2}), {.merge_mode = "max"});
            }),
            (Failure{"unknown_name", "merge_mode"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)bidirectional(x, GRU({.units = 2, .go_backwards = true}));
            }),
            (Failure{"invalid_value", "go_backwards"}));
  const GRU called({.units = 2});
  (void)called(x);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)bidirectional(x, called); }),
            (Failure{"invalid_value", "layer"}));
}

// Programs run the sequence as one step; predict() uses one from 16 samples on.
TEST(Recurrent, HasTheSameBitsInSessions) {
  const SymbolicTensor in = input({6, 4});
  const SymbolicTensor both =
      bidirectional(in, LSTM({.units = 5, .return_sequences = true}));
  const SymbolicTensor gated =
      GRU({.units = 4, .return_sequences = true, .reset_after = false})(both);
  const SymbolicTensor last = SimpleRNN({.units = 3})(
      GRU({.units = 7, .return_sequences = true})(gated));
  const Model model(in, Dense({.units = 2})(last));
  shake(model);
  const NoGradGuard no_grad;
  for (const int64_t n : {1, 5, 33}) {
    const Tensor x = noise({n, 6, 4}, 7);
    EXPECT_EQ(bits(InferenceSession(model).run(x)), bits(model(Variable(x))))
        << n;
    EXPECT_EQ(bits(model.predict(x)), bits(model(Variable(x)))) << n;
  }
}

TEST(Recurrent, RejectsInvalidOptionsAndInputs) {
  EXPECT_EQ(failure_of<ValueError>([] { (void)LSTM({}); }),
            (Failure{"out_of_range", "units"}));
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)GRU({.units = 1, .activation = "softmax"}); }),
            (Failure{"unknown_name", "activation"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)LSTM({.units = 1, .recurrent_activation = "sigmoyd"});
            }),
            (Failure{"unknown_name", "recurrent_activation"}));
  EXPECT_EQ(
      failure_of<ValueError>([] { (void)GRU({.units = 1, .dropout = 1}); }),
      (Failure{"out_of_range", "dropout"}));
  EXPECT_EQ(
      failure_of<ShapeError>([] { (void)SimpleRNN({.units = 1})(input({4})); }),
      (Failure{"invalid_shape", "input"}));
}

TEST(Recurrent, RejectsOperandsThatDoNotFit) {
  const auto rejects = [](const auto& function) {
    return failure_of<ShapeError>(function).code == "shape_mismatch";
  };
  const Tensor x = Tensor::zeros({2, 3, 8});
  EXPECT_TRUE(rejects([&] { (void)lstm(x, Tensor::zeros({2, 6})); }));
  EXPECT_TRUE(rejects([&] { (void)lstm(x, Tensor::zeros({3, 12})); }));
  EXPECT_TRUE(rejects([&] { (void)simple_rnn(x, Tensor::zeros({8, 7})); }));
  EXPECT_TRUE(rejects([&] {
    (void)simple_rnn(Tensor::zeros({2, 0, 8}), Tensor::zeros({8, 8}));
  }));
  const Tensor nine = Tensor::zeros({2, 3, 9});
  EXPECT_TRUE(rejects([&] {
    (void)gru(nine, Tensor::zeros({3, 9}), Tensor::zeros({8}));
  }));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)gru(nine, Tensor::zeros({3, 9}), Tensor::zeros({9}),
                        {.reset_after = false});
            }),
            (Failure{"invalid_value", "gru"}));
}

}  // namespace
}  // namespace octet
