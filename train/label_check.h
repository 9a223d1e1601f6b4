// Whether the labels of classes fit the outputs of a model. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/train/loss.h>

namespace octet::train {

/// Before the first step, of what the data knows of its labels.
/// Throws: ValueError for a loss of classes and a label that is none of the
/// model's, naming the first such sample and the usual cure.
void check_known_labels(std::string_view subject, const Model& model,
                        const Dataset& data, const Loss& loss);

/// As check_known_labels(), of a batch as it comes; `first` is the number of
/// its first sample in the data, if it has them in order.
void check_batch_labels(std::string_view subject, const Model& model,
                        const Batch& batch, const Loss& loss,
                        std::optional<int64_t> first = {});

}  // namespace octet::train
