// Updates of parameters during the backward pass.
#include <initializer_list>
#include <vector>

#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/fit.h>
#include <octet/train/optimizer.h>

#include "../support.h"
#include "blobs.h"
#include "weights.h"

namespace octet::train {
namespace {

/// Weights after steps of minimize(), or of backward() and step().
std::vector<std::vector<float>> weights_after_steps(Optimizer optimizer,
                                                    bool minimizes) {
  Model model = zoo::mobilenet_v1_025({.input = {32, 32, 3}});
  optimizer.attach(model.trainable_variables());
  const Tensor labels = Tensor::of<int64_t>({3}, {0, 1, 1});
  for (uint64_t step = 0; step < 3; ++step) {
    const Variable loss = softmax_cross_entropy(
        model(Variable(noise({3, 32, 32, 3}, step)), Mode::training), labels);
    if (minimizes) {
      optimizer.minimize(loss, 0.5f);
    } else {
      loss.backward();
      optimizer.step(0.5f);
    }
  }
  std::vector<std::vector<float>> weights;
  for (const Parameter& p : model.parameters()) {
    weights.push_back(values(p.variable));
  }
  return weights;
}

TEST(Optimizer, UpdatesInTheBackwardPassBitIdentically) {
  const ThreadCountGuard restored;
  for (const int threads : {1, 3}) {
    set_num_threads(threads);
    for (const Optimizer& optimizer : std::initializer_list<Optimizer>{
             SGD({.momentum = 0.9f, .weight_decay = 0.1f}), Adam(), RMSprop(),
             Lion(), LAMB()}) {
      EXPECT_EQ(weights_after_steps(optimizer.fresh(), true),
                weights_after_steps(optimizer.fresh(), false));
    }
  }
}

// The gradient of v needs the value of w, though not along an edge of the tape.
TEST(Optimizer, UpdatesAParameterAfterItsLastUse) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  const Variable v(Tensor::of<float>({2}, {3, 4}), true);
  SGD optimizer({.learning_rate = 0.5f});
  optimizer.attach({w, v});
  const Variable scaled = v * w.detach();
  optimizer.minimize(sum(add(scaled, w * w)));
  EXPECT_EQ(values(w), (std::vector<float>{0, 0}));
  EXPECT_EQ(values(v), (std::vector<float>{2.5f, 3}));
}

TEST(Optimizer, MinimizesWithSharedAndForeignParameters) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  const Variable other(Tensor::of<float>({2}, {3, 4}), true);
  SGD optimizer({.learning_rate = 0.5f});
  optimizer.attach({w});
  for (int i = 0; i < 2; ++i) optimizer.minimize(sum(w * w * other), 0);
  EXPECT_EQ(values(w), (std::vector<float>{1, 2}));
  EXPECT_EQ(values(other.grad()), (std::vector<float>{2, 8}));
  EXPECT_EQ(optimizer.steps(), 2);
}

TEST(Optimizer, MinimizesInAFitUnlessGradientsAreNeededTogether) {
  const auto weights = [](const FitOptions& options) {
    Model model = small_network();
    (void)fit(model, blobs(64), options);
    return weights_of(model);
  };
  // The norm of all gradients requires separate steps.
  EXPECT_EQ(weights({.epochs = 3, .batch_size = 10}),
            weights({.epochs = 3, .batch_size = 10, .gradient_norm = true}));
}

}  // namespace
}  // namespace octet::train
