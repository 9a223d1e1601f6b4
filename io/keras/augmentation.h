// Keras layers that change images at random in training and are the identity in
// inference. Internal to io/keras.
#pragma once

#include <string>
#include <string_view>

#include "keras/graph.h"

namespace octet::io {

bool is_augmentation(std::string_view class_name);

/// Whether Keras 3 writes training=True into the calls of a class. Its models
/// ignore it: their own mode is used.
/// Source: keras/src/layers/preprocessing/image_preprocessing/
/// base_image_preprocessing_layer.py, call(); keras/src/models/functional.py,
/// operation_fn().
bool ignores_training(std::string_view class_name);

/// Warns once about all such layers of the model and explains how to augment in
/// Octet. `file` is for the message.
void warn_of_augmentation(const KerasGraph& graph, const std::string& file);

}  // namespace octet::io
