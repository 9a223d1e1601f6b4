// LayerDef: what is known of a layer class before there is a layer: how to
// make one, its part in Q/DQ placement and folding, and how Keras writes it.
// What depends on a layer's options is asked of the layer (layer.h).
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet {

class Layer;

/// What a class does to the values that pass through, as far as Q/DQ
/// placement has to know.
enum class LayerRole {
  other,
  linear,         ///< weights times inputs: convolutions, Dense
  normalization,  ///< affine by channel, folds into its linear predecessor
  activation,     ///< one function of each element of one tensor
  movement,       ///< moves, selects or repeats values: Flatten, MaxPooling2D
  identity,       ///< hands its input on in inference: Dropout
  merge,          ///< joins several tensors element by element: Add
};

/// How a class is quantized: by a wrapper of its inputs and these weights.
struct QdqDefault {
  bool enabled = false;     ///< in full mode, when nobody says otherwise
  bool on_request = false;  ///< where a spec, a case or a policy asks for it
  bool several_inputs = false;          ///< each with Q/DQ of its own
  std::string_view weight = {};         ///< parameter that gets weight Q/DQ
  std::string_view second_weight = {};  ///< another one, of a class with two
  /// The tensor between the two products of such a class, which is quantized
  /// as its input is (ForwardContext::inner, EmitContext::inner).
  std::string_view inner = {};
};

/// The weight into which a normalization after the layer folds, with the
/// layer's bias. Its output channels are the axes [first_axis, last_axis),
/// flattened; the others belong to one output channel each.
struct FoldedWeight {
  std::string_view parameter = {};  ///< empty: nothing folds into the class
  int first_axis = 0;
  int last_axis = 0;
};

/// What the order of Keras' values (channels_last, channels_first, flattened
/// features) means to a class; tells how files with channels first are read.
enum class KerasLayout {
  keras,        ///< takes values in Keras' own order alone
  image,        ///< has the option data_format
  flatten,      ///< has it, and joins the axes of an image
  pointwise,    ///< the same to every value, wherever it is
  features,     ///< a kernel row for each feature of a sample: Dense
  axis,         ///< the option axis is any axis: Concatenate, Softmax
  channels,     ///< axis, if there, is that of the channels: BatchNormalization
  statistics,   ///< axis lists axes that keep their statistics: Normalization
  shared_axes,  ///< shared_axes lists axes: PReLU
  constants,    ///< scale and offset may be lists along an axis: Rescaling
};

/// How a class takes sequences [n,l,c] in ONNX, and gives them. (Images are
/// always [n,c,h,w] there.)
enum class SequenceOrder {
  keras,           ///< [n,l,c]
  channels_first,  ///< [n,c,l], as Conv does
  either,          ///< all in one order, as they come: OnnxValue::ncl
};

/// How Keras, in its versions, writes a class.
struct KerasDef {
  struct Renamed {
    std::string_view old_name = {};
    std::string_view name = {};
  };
  KerasLayout layout = KerasLayout::keras;
  /// Names of the class in other versions, or beside its own. Sources:
  /// keras_export of the layers' classes in Keras 2 and 3;
  /// keras/legacy/layers.py of Keras 2.2; tensorflow/python/keras/layers of
  /// 1.13.
  std::array<std::string_view, 3> aliases = {};
  /// Options that older versions call otherwise. Sources: keras/layers of
  /// Keras 1.2.2; keras/legacy/layers.py of Keras 2.2.
  std::array<Renamed, 2> renamed = {};
  /// Whether it has the option activation.
  bool has_activation = false;
  /// Brings the options of a file into the form `create` takes, where renaming
  /// does not do. Throws: UnsupportedError for what Octet has not.
  void (*upgrade)(Config& config) = nullptr;
};

/// What the registry knows of a class. Every layer source ends with one.
struct LayerDef {
  std::string_view class_name;
  /// Throws: ValueError, NotFoundError for a bad configuration.
  std::shared_ptr<Layer> (*create)(const Config& config);
  LayerRole role = LayerRole::other;
  QdqDefault qdq = {};
  FoldedWeight folded = {};
  KerasDef keras = {};
  SequenceOrder sequences = SequenceOrder::keras;
};

}  // namespace octet
