// Conversion between models that end in logits and models that end in
// probabilities (softmax or sigmoid).
#pragma once

#include <cstddef>
#include <string>

#include <octet/layers/model.h>

namespace octet::train {

/// Returns the Keras name of the activation of the model's single output. The
/// activation may be a layer or the option `activation` of a layer, inside a
/// wrapper or a nested model, and followed by layers that only reshape.
/// "sigmoid", "relu", ...; "softmax" only for a softmax over a sample's last
/// axis; "linear" for logits of a linear layer, or of a layer with an option
/// `activation`; "" for functions without a name, and for other layers.
/// Throws: ValueError for several outputs.
std::string output_activation(const Model& model);
/// As above, for output number `output`.
/// Throws: ValueError for an index out of range.
std::string output_activation(const Model& model, size_t output);

/// Returns a copy of a model without its final softmax or sigmoid, with the
/// same weights, scales and layer names. A model that ends in logits is copied
/// unchanged. Accepts float and quantized models.
/// Throws: ValueError for any other output.
Model logits_model(const Model& model);

/// Returns a copy of a model that ends in logits, followed by a softmax over
/// the last axis, or by a sigmoid for a single value per sample. A model that
/// ends in a softmax or sigmoid is copied unchanged. Accepts float and
/// quantized models. Throws: ValueError for any other output.
Model probability_model(const Model& model);

}  // namespace octet::train
