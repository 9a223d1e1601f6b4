// stable_rate: the largest learning rate that a trained model bears, for
// fine-tuning whose learning rate nobody knows.
//
//   const float rate = train::stable_rate(int8, data, {.optimizer = SGD()});
//   // Fine-tune at a share of it: 1 % for INT8.
#pragma once

#include <cstdint>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct StableRateOptions {
  float from = 1e-6f;  ///< lowest learning rate, > 0
  float to = 1.0f;     ///< highest learning rate, > from
  int64_t steps = 40;  ///< from `from` to `to` by equal factors, >= 10
  /// Number of samples per step, and twice as many judge each step; all samples
  /// if there are fewer.
  int64_t batch_size = 32;
  /// Its rule; rate, state and parameters are left as they are.
  Optimizer optimizer = Adam();
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< of the choice of samples
};

/// Trains a copy of the model with rising learning rates, evaluates a fixed set
/// of samples after each step, and returns a quarter of the learning rate that
/// raises the loss by half of its first value above its lowest: `to` / 4 if
/// none does, `from` / 4 if the first one does. find_learning_rate() looks for
/// the steepest descent instead, which a trained model does not have. The same
/// arguments give the same rate, for any number of threads.
/// Source: Smith, "Cyclical learning rates for training neural networks",
/// arXiv 1506.01186, section 3.3.
/// Throws: ValueError for options out of range, a quantized model that is not
/// calibrated, data that does not fit, or a loss that is not finite before the
/// first step; what reading data throws.
float stable_rate(const Model& model, const Dataset& data,
                  const StableRateOptions& options = {});

}  // namespace octet::train
