// Sums of metrics and losses over samples, in doubles. Internal to train.
#pragma once

#include <string>
#include <vector>

#include <octet/runtime/variable.h>
#include <octet/train/metric.h>

#include "trained_outputs.h"

namespace octet::train {

class MetricSums {
 public:
  explicit MetricSums(TrainedOutputs outputs);

  /// What a batch adds to each of the sums, term by term.
  using Terms = std::vector<std::vector<double>>;
  /// `outputs` are all of the model's, `loss` is that of the batch.
  /// Throws: ValueError if a metric does not give one value per sample.
  Terms terms(const std::vector<Tensor>& outputs, const Batch& batch,
              const BatchLoss& loss) const;
  void add(const Terms& terms, int64_t samples);
  /// Both in one.
  void add(const std::vector<Tensor>& outputs, const Batch& batch,
           const BatchLoss& loss) {
    add(terms(outputs, batch, loss), batch.size());
  }
  void clear();

  /// The means over all samples so far, named by
  /// TrainedOutputs::value_names().
  std::vector<MetricValue> values() const;

  /// One for each of the values.
  const std::vector<double>& sums() const { return sums_; }
  /// REQUIRES: a sum for each value.
  void set(std::vector<double> sums, int64_t samples);

 private:
  TrainedOutputs outputs_;
  std::vector<std::string> names_;
  std::vector<double> sums_;
  int64_t samples_ = 0;
};

/// The value of "accuracy", or NaN.
double accuracy_of(const std::vector<MetricValue>& values);

/// The sum of weight * loss over a batch.
/// Shapes: losses [n], or [] for their mean.
/// Throws: ValueError for weights with a mean.
double loss_sum(const Variable& losses, const Batch& batch);

}  // namespace octet::train
