// find_learning_rate: which learning rate to begin with.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

struct FindLearningRateOptions {
  float from = 1e-6f;   ///< > 0
  float to = 1.0f;      ///< > from
  int64_t steps = 100;  ///< >= 2; rates rise by the same factor each step
  int64_t batch_size = 64;
  Optimizer optimizer = Adam();  ///< its own rate is not used
  Loss loss = losses::sparse_categorical_cross_entropy();
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

/// Trains a copy of the model with rising rates until the loss is four times
/// its lowest value, not finite, or the last rate is reached. `model` stays.
/// Source: Smith, "Cyclical learning rates for training neural networks",
/// arXiv 1506.01186, section 3.3.
/// Throws: ValueError for options out of range, or where the loss is not
/// finite before it could fall; as fit().
LearningRateCurve find_learning_rate(
    const Model& model, const Dataset& data,
    const FindLearningRateOptions& options = {});

}  // namespace octet::train
