// Options of Keras layers that only affect training: models load without them,
// with a warning. Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include "keras/graph.h"
#include "keras/stored_layers.h"

namespace octet::io {

/// Warns once about all ignored options of the model's layers: batch
/// renormalization, virtual batches, spectral normalization, weight constraints
/// and activity regularizers. `file` is for the message.
void warn_of_training_options(const KerasGraph& graph, const std::string& file);

/// Removes weights that inference does not use: the statistics of batch
/// renormalization, and the vector of spectral normalization.
/// Source: tf_keras/layers/normalization/batch_normalization.py, build();
/// keras/src/layers/normalization/spectral_normalization.py.
void drop_training_statistics(std::vector<StoredWeight>& weights);

}  // namespace octet::io
