// Search for a learning rate.
#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

// find_learning_rate: learning rate range test, suggests an initial learning
// rate.

/// Options of find_learning_rate().
/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct FindLearningRateOptions {
  float from = 1e-6f;       ///< lowest learning rate, > 0
  float to = 1.0f;          ///< highest learning rate, > from
  int64_t steps = 100;      ///< from `from` to `to` by equal factors, >= 10
  int64_t batch_size = 64;  ///< samples per step, >= 1
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< of the shuffling
};

/// Loss of a training with rising learning rates.
struct LearningRateCurve {
  std::vector<float> rates;  ///< learning rate of each step, ascending
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

// stable_rate: largest stable learning rate of a trained model, from which a
// learning rate for fine-tuning is derived.
//
//   const float rate = train::stable_rate(int8, data, {.optimizer = SGD()});
//   // Fine-tune at a share of it: 1 % for INT8.

/// Options of stable_rate().
/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct StableRateOptions {
  float from = 1e-6f;  ///< lowest learning rate, > 0
  float to = 1.0f;     ///< highest learning rate, > from
  int64_t steps = 40;  ///< from `from` to `to` by equal factors, >= 10
  /// Number of samples per step, >= 1; twice as many evaluate the loss after
  /// each step. Limited to the number of samples.
  int64_t batch_size = 32;
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< for the selection of samples
};

/// Trains a copy of the model with rising learning rates, evaluates a fixed set
/// of samples after each step, and returns a quarter of the first learning rate
/// that raises the loss above its minimum by half of its initial value: `to` /
/// 4 if none does, `from` / 4 if the lowest does. find_learning_rate() requires
/// a descending loss, which a trained model does not have. Deterministic for
/// any number of threads. Source: Smith, "Cyclical learning rates for training
/// neural networks", arXiv 1506.01186, section 3.3. Throws: ValueError for
/// options out of range, a quantized model without calibration, data that does
/// not match the model, or an initial loss that is not finite; errors of the
/// data source.
float stable_rate(const Model& model, const Dataset& data,
                  const StableRateOptions& options = {});

}  // namespace octet::train
