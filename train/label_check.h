// Whether labels fit losses and the outputs of a model. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "trained_outputs.h"

namespace octet::train {

/// Throws: ValueError if the loss of an output does not fit it or its labels.
void check_targets(std::string_view subject, const Model& model,
                   const TrainedOutput& trained, const TensorSpec& labels);

/// Before the first step, of what the data knows of its labels, one for each of
/// the outputs.
/// Throws: ValueError for a loss of classes and a label that is none of the
/// model's, naming the first such sample and the usual cure.
void check_known_labels(std::string_view subject, const Model& model,
                        const Dataset& data, const TrainedOutputs& outputs);

/// As check_known_labels(), of a batch as it comes; `first` is the number of
/// its first sample in the data, if it has them in order.
void check_batch_labels(std::string_view subject, const Model& model,
                        const Batch& batch, const TrainedOutputs& outputs,
                        std::optional<int64_t> first = {});

}  // namespace octet::train
