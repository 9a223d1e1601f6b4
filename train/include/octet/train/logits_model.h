// What a model ends in: logits, or the probabilities that a softmax or sigmoid
// makes of them.
#pragma once

#include <cstddef>
#include <string>

#include <octet/layers/model.h>

namespace octet::train {

/// The activation that the model's only output ends in, wherever it stands: a
/// layer, the option `activation` of one, in a wrapper or a nested model,
/// before layers that only reshape. "softmax" is one over all values of a
/// sample's last axis; "linear" are logits as a Dense or convolution gives
/// them; other functions come by their Keras name, and what else there is as
/// "". Throws: ValueError for several outputs.
std::string output_activation(const Model& model);
/// Of one of its outputs. Throws: ValueError for one there is not.
std::string output_activation(const Model& model, size_t output);

/// A copy of a model that ends in softmax or sigmoid without it, quantized or
/// not, with the same weights, scales and layer names; a copy of others that
/// end in logits.
/// Throws: ValueError for a model that ends in anything else.
Model logits_model(const Model& model);

/// A copy of a model that ends in logits with a softmax over the last axis
/// after it, a sigmoid where there is one value a sample; a copy of one that
/// ends in such already. Quantized or not.
/// Throws: ValueError for a model that ends in anything else.
Model probability_model(const Model& model);

}  // namespace octet::train
