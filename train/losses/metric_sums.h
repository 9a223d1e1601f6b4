// MetricSums: sums of metrics and losses over samples, in double. Internal to
// train.
#pragma once

#include <string>
#include <vector>

#include <octet/runtime/variable.h>
#include <octet/train/metric.h>

#include "loop/trained_outputs.h"

namespace octet::train {

class MetricSums {
 public:
  explicit MetricSums(TrainedOutputs outputs);

  /// The terms that a batch adds to each sum.
  using Terms = std::vector<std::vector<double>>;
  /// `outputs` are all outputs of the model, `loss` is the loss of the batch.
  /// Throws: ValueError if a metric does not return a value per sample.
  Terms terms(const std::vector<Tensor>& outputs, const Batch& batch,
              const BatchLoss& loss) const;
  void add(const Terms& terms, int64_t samples);
  /// Computes and adds the terms of a batch.
  void add(const std::vector<Tensor>& outputs, const Batch& batch,
           const BatchLoss& loss) {
    add(terms(outputs, batch, loss), batch.size());
  }
  void clear();

  /// Returns the means over all samples so far, in the order of
  /// TrainedOutputs::value_names().
  std::vector<MetricValue> values() const;

  /// Returns the sum behind each of values().
  const std::vector<double>& sums() const { return sums_; }
  /// REQUIRES: a sum for each value.
  void set(std::vector<double> sums, int64_t samples);

 private:
  TrainedOutputs outputs_;
  std::vector<std::string> names_;
  std::vector<double> sums_;
  int64_t samples_ = 0;
};

/// Returns the value of "accuracy", or NaN.
double accuracy_of(const std::vector<MetricValue>& values);

/// Returns the sum of weight * loss over a batch.
/// Shapes: losses [n], or [] for their mean.
/// Throws: ValueError for a mean with weights.
double loss_sum(const Variable& losses, const Batch& batch);

}  // namespace octet::train
