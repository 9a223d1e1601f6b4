// Transfer learning: a trained network with a new classifier.
//
//   Model model = with_classifier(io::import_onnx("net.onnx").model, 2);
//   model.set_trainable("*", false);
//   model.set_trainable(classifier_of(model), true);
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/model.h>

namespace octet {

/// Options of with_classifier().
/// Fields in order: name, seed
struct ClassifierOptions {
  std::string name = {};  ///< of the new layer; empty: name of the replaced one
  uint64_t seed = 0;      ///< of the initial weights, as in ModelOptions
};

/// Returns the name of a model's classifier: the last Dense layer, or the last
/// 1x1 Conv2D, followed at most by activations, Dropout, global average pooling
/// and layers that only reshape.
/// Throws: ValueError for several outputs, an output that is not [n,classes],
/// another last layer, or a quantized classifier.
std::string classifier_of(const Model& model);

/// Returns a copy of a model in which a new Dense layer with `units` outputs,
/// the logits, replaces the classifier and all layers after it: timm's
/// reset_classifier(). Features [n,1,1,c] are flattened; [n,h,w,c] are averaged
/// over h and w first. All other layers keep their weights and trainable
/// flags.
/// Throws: ValueError as classifier_of(), and for units < 1.
Model with_classifier(const Model& model, int64_t units,
                      const ClassifierOptions& options = {});

}  // namespace octet
