// Options of Keras layers that matter in training alone: models load without
// them, with a note. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include "keras/graph.h"
#include "keras/stored_layers.h"

namespace octet::io {

/// Warns, once, of all options of the model's layers that are left out: batch
/// renormalization, virtual batches, constraints of weights and penalties of
/// activations. `file` is for the message.
void warn_of_training_options(const KerasGraph& graph, const std::string& file);

/// Removes the weights that only batch renormalization has and inference does
/// not use from those of a batch normalization.
/// Source: tf_keras/layers/normalization/batch_normalization.py, build().
void drop_renormalization(std::vector<StoredWeight>& weights);

}  // namespace octet::io
