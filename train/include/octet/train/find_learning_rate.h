// find_learning_rate: which learning rate to begin with.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct FindLearningRateOptions {
  float from = 1e-6f;   ///< > 0
  float to = 1.0f;      ///< > from
  int64_t steps = 100;  ///< >= 10; rates rise by the same factor each step
  int64_t batch_size = 64;
  /// Its rule; rate, state and parameters are left as they are.
  Optimizer optimizer = Adam();
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< of the shuffling
};

struct LearningRateCurve {
  std::vector<float> rates;
  /// Of the batch before each step, smoothed: an average with decay 0.9,
  /// corrected for its beginning.
  std::vector<double> losses;
  /// The rate at which the smoothed loss falls fastest over the logarithm of
  /// the rate, to be tried first.
  float suggestion = 0;
};

/// Trains a copy of the model with rising rates, until the loss is twice its
/// first value and as far above it as its lowest is below, not finite, or the
/// last rate is reached. `model` stays.
/// Source: Smith, "Cyclical learning rates for training neural networks",
/// arXiv 1506.01186, section 3.3.
/// Throws: ValueError for options out of range, a quantized model that is not
/// calibrated, data that does not fit, or where the loss falls at no rate by a
/// hundredth of its first value; what reading data throws.
LearningRateCurve find_learning_rate(
    const Model& model, const Dataset& data,
    const FindLearningRateOptions& options = {});

}  // namespace octet::train
