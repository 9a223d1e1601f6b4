// TrainedOutputs: the outputs of a model that have a loss, with their labels,
// losses and metrics. Internal to train.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>

namespace octet::train {

struct TrainedOutput {
  size_t index = 0;  ///< index among the model's outputs
  std::string name;  ///< name of the layer, without a wrapper
  Loss loss;         ///< adapted to this output
  float weight = 1;
  Metrics metrics;  ///< adapted to this output
};

/// The loss of a batch.
struct BatchLoss {
  Variable mean;   ///< mean over samples of the weighted sum over outputs
  double sum = 0;  ///< sum over samples of the weighted sum over outputs
  std::vector<double> outputs;  ///< sum over samples per output, unweighted
};

/// Has at least one output. Each batch has a label for each, in their order.
class TrainedOutputs {
 public:
  /// `metrics` belong to a single output; empty: the metrics of its loss.
  /// Throws: ValueError of `subject` for unknown or repeated outputs, losses
  /// that do not support the activation of an output, weights out of range, or
  /// invalid metric names.
  TrainedOutputs(std::string_view subject, const Model& model,
                 const Losses& losses, const Metrics& metrics);

  const std::vector<TrainedOutput>& all() const { return all_; }
  /// Returns the output if it is the only one.
  /// Throws: ValueError naming the feature `what` otherwise.
  const TrainedOutput& only(std::string_view subject,
                            std::string_view what) const;

  /// Returns `data` with inputs in the model's order and a label for each of
  /// these outputs. Throws: as data_for(); ValueError for labels that do not
  /// match.
  Dataset matched(std::string_view subject, const Model& model,
                  const Dataset& data) const;

  /// Returns the names of the values reported besides the loss: "accuracy", or
  /// "box_loss", "class_loss", "class_accuracy" for several outputs.
  std::vector<std::string> value_names() const;

  /// Returns the loss of the model's outputs for a batch.
  /// Throws: errors of the losses.
  BatchLoss loss(const std::vector<Variable>& outputs,
                 const Batch& batch) const;

  /// Returns the batch with only the label of trained output `which`.
  static Batch with_label(const Batch& batch, size_t which);

 private:
  std::vector<TrainedOutput> all_;
};

}  // namespace octet::train
