// Layers of Keras that change images at random in training and hand them on in
// inference. Internal to io/keras.
#pragma once

#include <string>
#include <string_view>

#include "keras/graph.h"

namespace octet::io {

bool is_augmentation(std::string_view class_name);

/// Whether Keras 3 writes training=True into the calls of a class, which its
/// models then ignore: their own mode takes its place.
/// Source: keras/src/layers/preprocessing/image_preprocessing/
/// base_image_preprocessing_layer.py, call(); keras/src/models/functional.py,
/// operation_fn().
bool ignores_training(std::string_view class_name);

/// Warns, once, of all layers of the model that are left out, and says what
/// augments here. `file` is for the message.
void warn_of_augmentation(const KerasGraph& graph, const std::string& file);

}  // namespace octet::io
