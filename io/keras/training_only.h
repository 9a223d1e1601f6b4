// Options of Keras layers that only affect training: models load without them,
// with a warning. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include "keras/graph.h"
#include "keras/stored_layers.h"

namespace octet::io {

/// Warns once about all ignored options of the model's layers: batch
/// renormalization, virtual batches, weight constraints and activity
/// regularizers. `file` is for the message.
void warn_of_training_options(const KerasGraph& graph, const std::string& file);

/// Removes the weights of batch renormalization, which inference does not use,
/// from those of a batch normalization.
/// Source: tf_keras/layers/normalization/batch_normalization.py, build().
void drop_renormalization(std::vector<StoredWeight>& weights);

}  // namespace octet::io
