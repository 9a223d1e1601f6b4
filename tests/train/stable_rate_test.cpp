#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>
#include <octet/runtime/error.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "checkpoints.h"
#include "weights.h"

namespace octet::train {
namespace {

/// y = w x without bias, for x of these magnitudes: the mean squared error is a
/// parabola, on which gradient descent diverges above 1 / mean(x^2).
Model line() {
  const SymbolicTensor x = input({1}, "x");
  return Model(x, Dense({.units = 1, .use_bias = false})(x));
}

TEST(StableRate, IsBelowTheBoundOfAParabola) {
  Tensor x({512, 1}), y({512, 1});
  Rng rng(1);
  for (size_t i = 0; i < 512; ++i) {
    x.f32()[i] = i % 2 == 0 ? 3.0f : -3.0f;
    y.f32()[i] = x.f32()[i] + rng.normal();
  }
  // d/dw mean((wx - y)^2) = 2 * 9 * (w - w0): one step is stable below 1/9.
  const double bound = 1.0 / 9;
  const float rate =
      stable_rate(line(), Dataset(x, y),
                  {.optimizer = SGD(), .loss = losses::mean_squared_error()});
  EXPECT_LT(rate, bound);
  EXPECT_GT(rate, bound / 20);
}

TEST(StableRate, IsDeterministicAndDoesNotChangeTheModel) {
  const ThreadCountGuard restored;
  Model model = quant::quantize_model(image_network());
  quant::calibrate(model, images(50, 1));
  quant::prepare_qat(model);
  const std::vector<float> weights = weights_of(model);
  const Config status = quant::state_of(model).status;
  const float rate = stable_rate(model, images(50, 1));
  set_num_threads(3);
  EXPECT_EQ(stable_rate(model, images(50, 1)), rate);
  EXPECT_EQ(weights_of(model), weights);
  EXPECT_EQ(quant::state_of(model).status, status);
}

TEST(StableRate, DoesNotDegradeATrainedModel) {
  Model model = small_network();
  fit(model, blobs(64),
      {.epochs = 30, .optimizer = Adam({.learning_rate = 0.02f})});
  const double before = evaluate(model, blobs(64)).loss;
  // find_learning_rate() has no suggestion for a converged model.
  for (const Optimizer& optimizer :
       {Optimizer(SGD({.momentum = 0.9f})), Optimizer(Adam())}) {
    const float rate = stable_rate(model, blobs(64), {.optimizer = optimizer});
    EXPECT_GT(rate, 0);
    Model tuned = model.clone();
    Optimizer chosen = optimizer.fresh();
    chosen.set_learning_rate(rate / 10);
    fit(tuned, blobs(64), {.epochs = 5, .optimizer = chosen});
    EXPECT_LT(evaluate(tuned, blobs(64)).loss, 1.1 * before);
  }
}

TEST(StableRate, AcceptsASingleSample) {
  EXPECT_GT(stable_rate(small_network(), blobs(1)), 0);
  EXPECT_GT(stable_rate(image_network(), images(1, 1)), 0);
}

TEST(StableRate, RejectsInvalidArguments) {
  const Model model = small_network();
  const auto refusal = [&](const StableRateOptions& options) {
    return failure_of<ValueError>(
        [&] { (void)stable_rate(model, blobs(8), options); });
  };
  EXPECT_EQ(refusal({.from = 0}), (Failure{"out_of_range", "stable_rate"}));
  EXPECT_EQ(refusal({.from = 1, .to = 1}),
            (Failure{"out_of_range", "stable_rate"}));
  EXPECT_EQ(refusal({.steps = 9}), (Failure{"out_of_range", "stable_rate"}));
  EXPECT_EQ(refusal({.batch_size = 0}),
            (Failure{"out_of_range", "stable_rate"}));
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)stable_rate(quant::quantize_model(small_network()),
                                blobs(8));
            }),
            (Failure{"not_calibrated", "stable_rate"}));
}

}  // namespace
}  // namespace octet::train
