// find_learning_rate: learning rate range test, suggests an initial learning
// rate.
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
  float from = 1e-6f;   ///< lowest learning rate, > 0
  float to = 1.0f;      ///< highest learning rate, > from
  int64_t steps = 100;  ///< from `from` to `to` by equal factors, >= 10
  int64_t batch_size = 64;
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< of the shuffling
};

struct LearningRateCurve {
  std::vector<float> rates;
  /// Batch loss before each step, smoothed by an exponential moving average
  /// with decay 0.9 and bias correction.
  std::vector<double> losses;
  /// Learning rate with the steepest descent of the smoothed loss over the
  /// logarithm of the rate: a first choice.
  float suggestion = 0;
};

/// Trains a copy of the model with rising learning rates. Stops at `to`, at a
/// loss that is not finite, or when the smoothed loss exceeds its first value
/// by the larger of that value and its descent so far.
/// Source: Smith, "Cyclical learning rates for training neural networks",
/// arXiv 1506.01186, section 3.3.
/// Throws: ValueError for options out of range, a quantized model without
/// calibration, data that does not match the model, or if no learning rate
/// lowers the loss by 1 % of its first value; errors of the data source.
LearningRateCurve find_learning_rate(
    const Model& model, const Dataset& data,
    const FindLearningRateOptions& options = {});

}  // namespace octet::train
