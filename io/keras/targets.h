// Targets of weights: the parameters of a model, grouped by Keras layers.
// Internal to io/keras.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/detail/axis_layout.h>
#include <octet/layers/model.h>

namespace octet::io {

struct WeightTarget {
  std::string name;   ///< "kernel"
  AxisLayout layout;  ///< from Keras' axes to Octet's
  Variable variable = {};
  bool trainable = true;
  bool integer = false;  ///< Keras stores an integer
  bool flipped = false;  ///< Keras reverses the spatial axes of the kernel
};

/// A layer and its inner layers.
struct TargetLayer {
  std::string name;        ///< within the enclosing layer
  std::string class_name;  ///< Keras'
  /// Attribute of the enclosing layer, unless that is a model: "query_dense".
  std::string attribute = {};
  bool is_model = false;
  std::vector<WeightTarget> weights = {};  ///< in Keras' order
  std::vector<TargetLayer> parts = {};
};

/// Whether the layer or an inner layer has weights.
bool has_weights(const TargetLayer& layer);

/// A weight with the names of its enclosing layers except the outermost:
/// {"conv1", "kernel"}.
struct PlacedTarget {
  std::vector<std::string> path;
  const WeightTarget* target;
};
/// Returns all weights of a layer and its inner layers in Keras' order:
/// trainable weights first.
std::vector<PlacedTarget> flattened(const TargetLayer& layer);

/// Returns the parameters of a layer in Octet's order.
std::vector<WeightTarget> weights_of(const Layer& layer);

/// Returns the layers of a model in the order that Keras would have; for a
/// quantized model, the wrapped layers. The parts of a named
/// multi_head_attention are one layer.
std::vector<TargetLayer> targets_of(const Model& model);

/// Moves layers "encoder/conv1" as "conv1" into a layer "encoder" if `names`
/// contains "encoder" and not the full name.
void regroup(std::vector<TargetLayer>& targets,
             const std::vector<std::string>& names);

}  // namespace octet::io
