// The outputs of a model that have a loss: which they are, what they are
// compared with, and what is reported of them. Internal to train.
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
  size_t index = 0;  ///< among the model's outputs
  std::string name;  ///< of the layer, without a wrapper
  Loss loss;         ///< as it is for this output
  float weight = 1;
  Metrics metrics;  ///< as they are for this output
};

/// The loss of one batch.
struct BatchLoss {
  Variable mean;   ///< over the samples, of the weighted sum over outputs
  double sum = 0;  ///< of the same over the samples
  std::vector<double> outputs;  ///< the sums of each output, without its weight
};

/// At least one. Each batch has a label for each, in their order.
class TrainedOutputs {
 public:
  /// `metrics` are those of the only output; none: those of its loss.
  /// Throws: ValueError naming `subject` for outputs that there are not, twice
  /// the same, losses that do not go with how an output ends, weights out of
  /// range, or names of values that are taken.
  TrainedOutputs(std::string_view subject, const Model& model,
                 const Losses& losses, const Metrics& metrics);

  const std::vector<TrainedOutput>& all() const { return all_; }
  /// Throws: ValueError naming `what`, which is for one output, for several.
  const TrainedOutput& only(std::string_view subject,
                            std::string_view what) const;

  /// `data` with its inputs as the model takes them and a label for each of
  /// these outputs. Throws: as data_for(); ValueError for labels that do not
  /// fit.
  Dataset matched(std::string_view subject, const Model& model,
                  const Dataset& data) const;

  /// What is reported besides the loss: "accuracy", or with several outputs
  /// "box_loss", "class_loss", "class_accuracy".
  std::vector<std::string> value_names() const;

  /// Of what the model gave for a batch. Throws: what the losses do.
  BatchLoss loss(const std::vector<Variable>& outputs,
                 const Batch& batch) const;

  /// The batch with the label of one of these outputs.
  static Batch with_label(const Batch& batch, size_t which);

 private:
  std::vector<TrainedOutput> all_;
};

}  // namespace octet::train
