#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet {
namespace {

struct Known {
  const char* name;
  float at_minus_one;
  float at_two;
};

// To nine digits, by an arbitrary-precision calculator.
constexpr Known kKnown[] = {
    {"linear", -1, 2},
    {"elu", -0.632120559f, 2},
    {"exponential", 0.367879441f, 7.38905610f},
    {"gelu", -0.158655254f, 1.95449974f},
    {"gelu_tanh", -0.158808009f, 1.95459769f},
    {"hard_sigmoid", 0.333333333f, 0.833333333f},
    {"hard_silu", -0.333333333f, 1.66666667f},
    {"hard_swish", -0.333333333f, 1.66666667f},
    {"leaky_relu", -0.2f, 2},
    {"relu", 0, 2},
    {"relu6", 0, 2},
    {"selu", -1.11133073f, 2.10140197f},
    {"sigmoid", 0.268941421f, 0.880797078f},
    {"silu", -0.268941421f, 1.76159416f},
    {"softplus", 0.313261688f, 2.12692801f},
    {"softsign", -0.5f, 0.666666667f},
    {"swish", -0.268941421f, 1.76159416f},
    {"tanh", -0.761594156f, 0.964027580f},
    {"celu", -0.632120559f, 2},
    {"hard_shrink", -1, 2},
    {"hard_tanh", -1, 1},
    {"log_sigmoid", -1.31326169f, -0.126928011f},
    {"mish", -0.303401461f, 1.94395896f},
    {"soft_shrink", -0.5f, 1.5f},
    {"sparse_plus", 0, 2},
    {"sparse_sigmoid", 0, 1},
    {"squareplus", 0.618033989f, 2.41421356f},
    {"tanh_shrink", -0.238405844f, 1.03597242f},
};

TEST(Activation, ComputesKerasFunctions) {
  const Tensor x = Tensor::of<float>({1, 2}, {-1, 2});
  for (const Known& known : kKnown) {
    SCOPED_TRACE(known.name);
    const auto y = values(infer(Activation(known.name), x));
    // A few units of the last place.
    EXPECT_NEAR(y[0], known.at_minus_one, 3e-7 * std::fabs(y[0]));
    EXPECT_NEAR(y[1], known.at_two, 3e-7 * std::fabs(y[1]));
  }
}

TEST(Activation, KeepsTheGivenNameInItsConfiguration) {
  for (const char* name : {"swish", "silu", "hard_swish", "hard_silu", "relu6",
                           "softmax", "linear"}) {
    const Config config = Activation(name)->config();
    EXPECT_EQ(config.at("activation").as_string(), name);
    EXPECT_EQ(create_layer("Activation", config)->config(), config);
  }
}

TEST(Activation, IsNamedByItsSecondArgumentOrItsOptions) {
  EXPECT_EQ(Activation("relu", "act")->name(), "act");
  EXPECT_EQ(Activation({.activation = "relu", .name = "act"})->name(), "act");
}

TEST(Activation, SuggestsTheNearestFunction) {
  const Failure failure =
      failure_of<ValueError>([] { (void)Activation("sigmod", "gate"); });
  EXPECT_EQ(failure, (Failure{"unknown_name", "activation"}));
  EXPECT_EQ(quoted_names(failure.text()).back(), "sigmoid");
}

TEST(Activation, AppliesSoftmaxAlongTheLastAxis) {
  const auto y = values(
      infer(Activation("softmax"), Tensor::of<float>({2, 2}, {3, 3, 0, 0})));
  EXPECT_EQ(y, (std::vector<float>{0.5f, 0.5f, 0.5f, 0.5f}));
  EXPECT_THROW((void)Activation("softmax")(input({})), ShapeError);
}

TEST(Activation, EqualsTheActivationOptionOfALayer) {
  const SymbolicTensor x = input({3});
  const Model inside(x, Dense({.units = 4, .activation = "gelu"})(x));
  Model outside(x, Activation("gelu")(Dense({.units = 4})(x)));
  outside.layers()[1]->copy_parameters(*inside.layers()[1]);
  const Tensor data = noise({5, 3});
  EXPECT_EQ(bits(inside.predict(data)), bits(outside.predict(data)));
}

TEST(LeakyReLU, DefaultsToKerasSlope) {
  const Tensor x = Tensor::of<float>({1, 4}, {-10, -0.0f, 0, 10});
  EXPECT_EQ(values(infer(LeakyReLU(), x)), (std::vector<float>{-3, 0, 0, 10}));
}

TEST(LeakyReLU, AcceptsTheOptionNameOfKeras2) {
  const auto layer = create_layer("LeakyReLU", Config().set("alpha", 0.5));
  EXPECT_EQ(layer->config().at("negative_slope").as_number(), 0.5);
  const Config config = layer->config();
  EXPECT_EQ(config.find("alpha"), nullptr);
}

TEST(LeakyReLU, RejectsANegativeSlope) {
  EXPECT_THROW((void)LeakyReLU({.negative_slope = -0.1f}), ValueError);
  EXPECT_THROW((void)LeakyReLU({.negative_slope = NAN}), ValueError);
}

TEST(ELU, ScalesNegativeInputs) {
  const auto y = values(
      infer(ELU({.alpha = 2}), Tensor::of<float>({1, 3}, {-1e4f, 0, 3})));
  EXPECT_EQ(y, (std::vector<float>{-2, 0, 3}));
  EXPECT_THROW((void)ELU({.alpha = INFINITY}), ValueError);
  const Config config = ELU({.alpha = 2})->config();
  EXPECT_EQ(create_layer("ELU", config)->config(), config);
}

TEST(PReLU, HasASlopePerUnsharedFeature) {
  const SymbolicTensor x = input({4, 6, 3});
  const auto alpha = [&](const PReLUOptions& options) {
    const PReLU layer(options);
    (void)layer(x);
    return layer->parameter("alpha").variable.shape();
  };
  EXPECT_EQ(alpha({}), Shape({4, 6, 3}));
  EXPECT_EQ(alpha({.shared_axes = {1, 2}}), Shape({1, 1, 3}));
  EXPECT_EQ(alpha({.shared_axes = {3}}), Shape({4, 6, 1}));
}

TEST(PReLU, RejectsASecondCallWithOtherSlopes) {
  const PReLU each({.name = "p"});
  (void)each(input({4, 5, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)each(input({5, 5, 3}));
            }),
            (Failure{"shape_mismatch", "input"}));
  const PReLU shared({.shared_axes = {1, 2}});
  (void)shared(input({4, 5, 3}));
  EXPECT_NO_THROW((void)shared(input({5, 5, 3})));
}

TEST(PReLU, MultipliesNegativeInputs) {
  const auto y = values(infer(
      PReLU({.alpha_initializer = constant_value(0.5f), .shared_axes = {1}}),
      Tensor::of<float>({1, 2, 2}, {-2, 4, 0, -6})));
  EXPECT_EQ(y, (std::vector<float>{-1, 4, 0, -3}));
}

TEST(PReLU, RejectsSharingTheBatchAxis) {
  const SymbolicTensor x = input({4, 6, 3});
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)PReLU({.shared_axes = {0}})(x); }),
      (Failure{"out_of_range", "shared_axes"}));
  EXPECT_THROW((void)PReLU({.shared_axes = {4}})(x), ValueError);
}

TEST(PReLU, ReadsKerasConfiguration) {
  const Config none = Config().set("shared_axes", Config());
  EXPECT_TRUE(
      create_layer("PReLU", none)->config().at("shared_axes").is_null());
  const Config config = PReLU({.shared_axes = {1, 2}})->config();
  EXPECT_EQ(create_layer("PReLU", config)->config(), config);
}

}  // namespace
}  // namespace octet
