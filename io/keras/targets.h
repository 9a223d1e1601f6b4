// Where weights go: the parameters of a model by the layers that Keras has for
// them. Internal to io/keras.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <octet/layers/model.h>

namespace octet::io {

struct WeightTarget {
  std::string name;                                    ///< "kernel"
  Shape shape;                                         ///< in Keras
  std::function<Tensor(const Tensor&)> to_octet = {};  ///< empty: as it is
  Variable variable = {};
  bool trainable = true;
  bool integer = false;  ///< Keras has a whole number
};

/// A layer, with the layers in it.
struct TargetLayer {
  std::string name;        ///< in the layer around it
  std::string class_name;  ///< Keras'
  /// Of a layer in another that is no model, the attribute that holds it:
  /// "query_dense".
  std::string attribute = {};
  bool is_model = false;
  std::vector<WeightTarget> weights = {};  ///< in Keras' order
  std::vector<TargetLayer> parts = {};
};

/// Whether the layer or one in it has weights.
bool has_weights(const TargetLayer& layer);

/// A weight with the names of the layers around it, the outermost left out:
/// {"conv1", "kernel"}.
struct PlacedTarget {
  std::vector<std::string> path;
  const WeightTarget* target;
};
/// All weights of a layer, those of the layers in it included, in the order in
/// which Keras lists them: what trains comes first.
std::vector<PlacedTarget> flattened(const TargetLayer& layer);

/// The parameters of a layer, as they are in Octet.
std::vector<WeightTarget> weights_of(const Layer& layer);

/// The layers of a model that Octet made, in the order in which Keras would
/// have them; of a quantized model, those in its wrappers. The parts of a
/// multi_head_attention with a name are one layer.
std::vector<TargetLayer> targets_of(const Model& model);

/// Puts layers "encoder/conv1" as "conv1" into a layer "encoder" where
/// `names` has that and not the full name.
void regroup(std::vector<TargetLayer>& targets,
             const std::vector<std::string>& names);

}  // namespace octet::io
