// Checks of labels against losses and outputs of a model. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

#include "loop/trained_outputs.h"

namespace octet::train {

/// Throws: ValueError if the loss of an output does not match the shape of the
/// output, or the type or shape of its labels.
void check_targets(std::string_view subject, const Model& model,
                   const TrainedOutput& trained, const TensorSpec& labels);

/// Checks class labels that the data knows without reading inputs; `data` has a
/// label for each of the outputs.
/// Throws: ValueError for a label that is not a class of the model, with the
/// first such sample and a hint.
void check_known_labels(std::string_view subject, const Model& model,
                        const Dataset& data, const TrainedOutputs& outputs);

/// As check_known_labels(), for a batch. `first` is the index of its first
/// sample if the data is read in order.
void check_batch_labels(std::string_view subject, const Model& model,
                        const Batch& batch, const TrainedOutputs& outputs,
                        std::optional<int64_t> first = {});

}  // namespace octet::train
