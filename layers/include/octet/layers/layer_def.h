// LayerDef: static description of a layer class: creation, Q/DQ placement,
// folding and Keras import. Properties that depend on a layer's options are
// virtual functions of Layer (layer.h).
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet {

class Layer;

/// What a layer computes, as far as Q/DQ placement depends on it.
enum class LayerRole {
  other,
  linear,         ///< weights times inputs: convolutions, Dense
  normalization,  ///< affine per channel, folds into a linear predecessor
  activation,     ///< elementwise function of one tensor
  movement,       ///< moves, selects or repeats values: Flatten, MaxPooling2D
  identity,       ///< no effect in inference: Dropout
  merge,          ///< combines several tensors element by element: Add
};

/// Default quantization of a class: a wrapper quantizes its inputs and the
/// weights named here.
struct QdqDefault {
  bool enabled = false;     ///< quantized by default in full mode
  bool on_request = false;  ///< quantized if a spec, case or policy selects it
  bool several_inputs = false;          ///< separate Q/DQ for each input
  std::string_view weight = {};         ///< parameter with weight Q/DQ
  std::string_view second_weight = {};  ///< second parameter with weight Q/DQ
  /// Intermediate tensor between the two products of a class with a second
  /// weight; quantized like the input (ForwardContext::intermediate,
  /// EmitContext::intermediate).
  std::string_view intermediate = {};
};

/// The weight into which a subsequent normalization folds, together with the
/// bias. The axes [first_axis, last_axis), flattened, are its output channels;
/// the other axes belong to one output channel each.
struct FoldedWeight {
  std::string_view parameter = {};  ///< empty: folding not supported
  int first_axis = 0;
  int last_axis = 0;
};

/// How a class depends on the layout of Keras' values (channels_last,
/// channels_first, flattened features); determines the import of channels_first
/// files.
enum class KerasLayout {
  keras,        ///< requires channels_last
  image,        ///< has an option data_format
  flatten,      ///< has data_format and merges the axes of an image
  pointwise,    ///< elementwise, any layout
  features,     ///< one kernel row per feature of a sample: Dense
  axis,         ///< option `axis` is any axis: Concatenate, Softmax
  channels,     ///< option `axis` is the channel axis: BatchNormalization
  statistics,   ///< option `axis` lists axes with statistics: Normalization
  shared_axes,  ///< option `shared_axes` lists axes: PReLU
  constants,    ///< scale and offset may be lists along an axis: Rescaling
};

/// How Keras versions serialize a class.
struct KerasDef {
  struct Renamed {
    std::string_view old_name = {};
    std::string_view name = {};
  };
  KerasLayout layout = KerasLayout::keras;
  /// Alternative class names. Sources: keras_export of the layer classes in
  /// Keras 2 and 3; keras/legacy/layers.py of Keras 2.2;
  /// tensorflow/python/keras/layers of TensorFlow 1.13.
  std::array<std::string_view, 3> aliases = {};
  /// Options renamed since older versions. Sources: keras/layers of Keras
  /// 1.2.2; keras/legacy/layers.py of Keras 2.2.
  std::array<Renamed, 2> renamed = {};
  /// Whether the class has an option `activation`.
  bool has_activation = false;
  /// Converts options beyond renaming into the form that `create` accepts.
  /// Throws: UnsupportedError for unsupported options.
  void (*upgrade)(Config& config) = nullptr;
};

/// Registry entry of a class; every layer source ends with a definition.
struct LayerDef {
  std::string_view class_name;
  /// Creates a layer from its configuration.
  /// Throws: ValueError, NotFoundError for an invalid configuration.
  std::shared_ptr<Layer> (*create)(const Config& config);
  LayerRole role = LayerRole::other;
  QdqDefault qdq = {};
  FoldedWeight folded = {};
  KerasDef keras = {};
};

}  // namespace octet
