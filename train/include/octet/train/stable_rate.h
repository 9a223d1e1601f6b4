// stable_rate: largest stable learning rate of a trained model, from which a
// learning rate for fine-tuning is derived.
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
  /// Number of samples per step; twice as many evaluate the loss after each
  /// step. Limited to the number of samples.
  int64_t batch_size = 32;
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
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
