// Keras and PyTorch names of losses and metrics:
//
//   train::fit(model, data, {.loss = "mse", .metrics = {"mae"}});
//   train::fit(model, data, {.loss = train::losses::CrossEntropyLoss()});
//
// String names ignore case and underscores. Logits or probabilities are
// detected from the end of the model, not from the name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <octet/train/loss.h>
#include <octet/train/metric.h>

namespace octet::train {

/// Returns Octet's name of a loss: "mean_squared_error" for "mse",
/// "MeanSquaredError" and "MSELoss"; "" for an unknown name.
std::string loss_name(std::string_view name);

/// Returns the loss of this name, with default options.
/// Throws: NotFoundError with similar names.
Loss loss_named(std::string_view name);

/// Returns the metric of this name: "accuracy", "acc",
/// "sparse_categorical_accuracy", "top_3_accuracy", "mae",
/// "MeanSquaredError", ...
/// Throws: NotFoundError with similar names.
Metric metric_named(std::string_view name);

namespace losses {

// Keras' functions.
inline Loss sparse_categorical_crossentropy(
    const CrossEntropyOptions& options = {}) {
  return sparse_categorical_cross_entropy(options);
}
inline Loss categorical_crossentropy(const CrossEntropyOptions& options = {}) {
  return categorical_cross_entropy(options);
}
inline Loss binary_crossentropy(const CrossEntropyOptions& options = {}) {
  return binary_cross_entropy(options);
}
inline Loss mse() { return mean_squared_error(); }
inline Loss mae() { return mean_absolute_error(); }

// Keras' classes.
inline Loss SparseCategoricalCrossentropy(
    const CrossEntropyOptions& options = {}) {
  return sparse_categorical_cross_entropy(options);
}
inline Loss CategoricalCrossentropy(const CrossEntropyOptions& options = {}) {
  return categorical_cross_entropy(options);
}
inline Loss BinaryCrossentropy(const CrossEntropyOptions& options = {}) {
  return binary_cross_entropy(options);
}
inline Loss MeanSquaredError() { return mean_squared_error(); }
inline Loss MeanAbsoluteError() { return mean_absolute_error(); }
inline Loss Huber(const HuberOptions& options = {}) { return huber(options); }

// PyTorch's classes. CrossEntropyLoss expects class indices.
inline Loss CrossEntropyLoss(const CrossEntropyOptions& options = {}) {
  return sparse_categorical_cross_entropy(options);
}
inline Loss BCEWithLogitsLoss(const CrossEntropyOptions& options = {}) {
  return binary_cross_entropy(options);
}
inline Loss BCELoss(const CrossEntropyOptions& options = {}) {
  return binary_cross_entropy(options);
}
inline Loss MSELoss() { return mean_squared_error(); }
inline Loss L1Loss() { return mean_absolute_error(); }
inline Loss HuberLoss(const HuberOptions& options = {}) {
  return huber(options);
}
/// With beta = 1, for which it equals HuberLoss.
inline Loss SmoothL1Loss() { return huber(); }

}  // namespace losses

namespace metrics {

// Keras' functions and classes. accuracy() accepts class indices and one-hot
// labels.
inline Metric acc() { return accuracy(); }
inline Metric sparse_categorical_accuracy() { return accuracy(); }
inline Metric categorical_accuracy() { return accuracy(); }
inline Metric top_k_categorical_accuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric sparse_top_k_categorical_accuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric mse() { return mean_squared_error(); }
inline Metric mae() { return mean_absolute_error(); }
inline Metric Accuracy() { return accuracy(); }
inline Metric SparseCategoricalAccuracy() { return accuracy(); }
inline Metric CategoricalAccuracy() { return accuracy(); }
inline Metric BinaryAccuracy(std::optional<float> threshold = {}) {
  return binary_accuracy(threshold);
}
inline Metric TopKCategoricalAccuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric SparseTopKCategoricalAccuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric MeanSquaredError() { return mean_squared_error(); }
inline Metric MeanAbsoluteError() { return mean_absolute_error(); }

}  // namespace metrics
}  // namespace octet::train
