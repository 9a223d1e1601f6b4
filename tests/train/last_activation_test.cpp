// Models that end in an activation after another activation, or after an op
// without a deferred expression: losses of probabilities, against closed forms.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/layers.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"

namespace octet::train {
namespace {

using ::testing::IsEmpty;

std::vector<double> softmax_of(const std::vector<double>& x) {
  double sum = 0;
  for (const double v : x) sum += std::exp(v);
  std::vector<double> p;
  for (const double v : x) p.push_back(std::exp(v) / sum);
  return p;
}

/// Returns the last of `times` nested softmaxes, in double.
double cross_entropy_of(std::vector<double> x, size_t label, int times) {
  for (int i = 0; i < times; ++i) x = softmax_of(x);
  return -std::log(x[label]);
}

// The gradient is compared with central differences of the closed form.
TEST(LastActivation, OfTwoSoftmaxesMatchesTheLossOfTheLast) {
  const std::vector<double> logits = {0.3, -1.2, 2.1};
  const Variable x(Tensor::of<float>({1, 3}, {0.3f, -1.2f, 2.1f}), true);
  const Tensor label = Tensor::of<int64_t>({1}, {1});
  const Variable loss =
      softmax_cross_entropy(softmax(softmax(x)), label, {.from_logits = false});
  EXPECT_NEAR(loss.value().item(), cross_entropy_of(logits, 1, 2), 1e-6);
  loss.backward();
  for (size_t i = 0; i < 3; ++i) {
    constexpr double kStep = 1e-5;
    std::vector<double> up = logits, down = logits;
    up[i] += kStep;
    down[i] -= kStep;
    const double slope =
        (cross_entropy_of(up, 1, 2) - cross_entropy_of(down, 1, 2)) /
        (2 * kStep);
    EXPECT_NEAR(x.grad().f32()[i], slope, 1e-6) << i;
  }
}

// A value without an expression is freed with its last Variable.
TEST(LastActivation, AfterAnyOpMatchesTheLossOfItsLogits) {
  const Tensor numbers = noise({4, 3});
  const Tensor labels = Tensor::of<int64_t>({4}, {0, 2, 1, 1});
  const auto run = [&](auto make, bool from_logits) {
    const Variable x(numbers, true);
    const Variable loss =
        softmax_cross_entropy(make(x), labels, {.from_logits = from_logits});
    loss.backward();
    return std::pair(loss.value().item(), values(x.grad()));
  };
  const auto [loss, gradient] =
      run([](const Variable& x) { return tanh(x); }, true);
  const auto [same, slope] =
      run([](const Variable& x) { return softmax(tanh(x)); }, false);
  EXPECT_NEAR(same, loss, 1e-6);
  for (size_t i = 0; i < slope.size(); ++i) {
    EXPECT_NEAR(slope[i], gradient[i], 1e-6) << i;
  }
  const Tensor targets = Tensor::of<float>({4, 3}, {1, 0, 0, 0, 1, 1,  //
                                                    0, 1, 0, 1, 0, 0});
  const auto binary = [&](auto make, bool from_logits) {
    const Variable x(numbers, true);
    const Variable result =
        binary_cross_entropy(make(x), targets, {.from_logits = from_logits});
    result.backward();
    return std::pair(result.value().item(), values(x.grad()));
  };
  EXPECT_EQ(binary([](const Variable& x) { return tanh(x); }, true),
            binary([](const Variable& x) { return sigmoid(tanh(x)); }, false));
}

// Rounding must not lose gradients, even of extreme probabilities.
TEST(LastActivation, PreservesGradientsOfSmallProbabilities) {
  const Variable x(Tensor::of<float>({1, 2}, {0, 40}), true);
  const Variable y = softmax(reshape(x, {1, 2}));
  softmax_cross_entropy(y, Tensor::of<int64_t>({1}, {0}),
                        {.from_logits = false})
      .backward();
  EXPECT_NEAR(x.grad().f32()[0], -1, 1e-6);
  EXPECT_NEAR(x.grad().f32()[1], 1, 1e-6);
}

struct End {
  std::string name;
  std::vector<LayerHandle> layers;
};

/// Layers from [N,2] to probabilities of two classes.
std::vector<End> softmax_ends() {
  return {
      {"Softmax behind Dense(softmax)",
       {Dense({.units = 2, .activation = "softmax"}), Softmax()}},
      {"Activation behind Dense(softmax)",
       {Dense({.units = 2, .activation = "softmax"}),
        Activation({.activation = "softmax"})}},
      {"Softmax behind Dense(sigmoid)",
       {Dense({.units = 2, .activation = "sigmoid"}), Softmax()}},
      {"Softmax behind Dense(log_softmax)",
       {Dense({.units = 2, .activation = "log_softmax"}), Softmax()}},
      {"Softmax behind Dense without bias",
       {Dense({.units = 2, .use_bias = false}), Softmax()}},
      {"Softmax behind Reshape",
       {Dense({.units = 2}), Reshape({.target_shape = {2}}), Softmax()}},
      {"Softmax behind pooling",
       {Reshape({.target_shape = {1, 2}}), Dense({.units = 2}),
        GlobalAveragePooling1D(), Softmax()}},
      {"Reshape behind Softmax",
       {Dense({.units = 2}), Softmax(), Reshape({.target_shape = {2}})}},
      {"Flatten behind two",
       {Dense({.units = 2, .activation = "softmax"}), Softmax(), Flatten()}},
      {"Dropout behind two",
       {Dense({.units = 2, .activation = "softmax"}), Softmax(),
        Dropout({.rate = 0})}}};
}

std::vector<End> sigmoid_ends() {
  return {{"sigmoid behind Dense(sigmoid)",
           {Dense({.units = 1, .activation = "sigmoid"}),
            Activation({.activation = "sigmoid"})}},
          {"sigmoid behind Dense without bias",
           {Dense({.units = 1, .use_bias = false}),
            Activation({.activation = "sigmoid"})}},
          {"sigmoid behind Reshape",
           {Dense({.units = 1}), Reshape({.target_shape = {1}}),
            Activation({.activation = "sigmoid"})}}};
}

/// Returns the code of the warning about a second activation, if any.
std::string fit_of(const End& end, const char* loss) {
  Sequential model({2}, end.layers, {.seed = 3});
  const WarningCapture warnings;
  const History history = fit(model, blobs(32),
                              {.epochs = 30,
                               .batch_size = 8,
                               .optimizer = Adam({.learning_rate = 0.1f}),
                               .verbose = false,
                               .loss = loss});
  EXPECT_LT(history.back().loss, 0.9 * history.front().loss) << end.name;
  // A sigmoid of probabilities is never below 0.5.
  if (end.name != "sigmoid behind Dense(sigmoid)") {
    EXPECT_EQ(evaluate(model, blobs(32), {.loss = loss}).metrics[0].value, 1)
        << end.name;
  }
  return warnings.messages.empty() ? "" : warnings.messages[0].code;
}

TEST(LastActivation, TrainsAfterAnyActivation) {
  for (const End& end : softmax_ends()) {
    const std::string warning = fit_of(end, "sparse_categorical_crossentropy");
    const bool twice = end.name.find("two") != std::string::npos ||
                       end.name.find("behind Dense(s") != std::string::npos;
    if (twice) {
      EXPECT_EQ(warning, "repeated_activation") << end.name;
    } else {
      EXPECT_THAT(warning, IsEmpty()) << end.name;
    }
  }
  for (const End& end : sigmoid_ends()) {
    const std::string warning = fit_of(end, "binary_crossentropy");
    EXPECT_EQ(warning.empty(), end.name != "sigmoid behind Dense(sigmoid)")
        << end.name;
  }
}

}  // namespace
}  // namespace octet::train
