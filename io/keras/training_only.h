// Layers and options of Keras that only affect training: models load without
// them, with a warning. Internal to io/keras.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "keras/graph.h"
#include "keras/stored.h"

namespace octet::io {

/// Whether a layer changes images at random in training and is the identity in
/// inference.
bool is_augmentation(std::string_view class_name);

/// Whether Keras 3 writes training=True into the calls of a class. Its models
/// ignore it: their own mode is used.
/// Source: keras/src/layers/preprocessing/image_preprocessing/
/// base_image_preprocessing_layer.py, call(); keras/src/models/functional.py,
/// operation_fn().
bool ignores_training(std::string_view class_name);

/// Warns once about all augmentations, explaining how to augment in Octet, and
/// once about all ignored options of the model's layers: batch renormalization,
/// virtual batches, spectral normalization, weight constraints and activity
/// regularizers. `file` is for the message.
void warn_of_training_only(const KerasGraph& graph, const std::string& file);

/// Removes weights that inference does not use: the statistics of batch
/// renormalization, and the vector of spectral normalization.
/// Source: tf_keras/layers/normalization/batch_normalization.py, build();
/// keras/src/layers/normalization/spectral_normalization.py.
void drop_training_statistics(std::vector<StoredWeight>& weights);

}  // namespace octet::io
