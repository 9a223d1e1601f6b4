// Axis orders: Octet's images are [n,h,w,c] and its sequences [n,l,c] in all
// models; each value records its order in Keras. Internal to io/keras.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/layer_def.h>

#include "keras/layer_sequence.h"

namespace octet::io {

struct AxisOrder {
  /// For images and sequences: Keras has [n,c,h,w] or [n,c,l].
  bool channels_first = false;
  /// For features: Keras flattened them from [c,h,w] with these sizes, Octet
  /// from [h,w,c]; h = 1 for sequences. Otherwise of rank 0.
  Shape flattened = {};

  bool operator==(const AxisOrder&) const = default;
};

struct KerasValue {
  SymbolicTensor tensor;
  AxisOrder order = {};
};

/// Returns the shape in Keras, including the batch.
Shape keras_shape(const KerasValue& value);

/// Converts a value to another order, with Permute and Reshape layers if
/// necessary. Returns it unchanged if it cannot have that order.
KerasValue materialize(const KerasValue& value, const AxisOrder& wanted);

/// Returns the order in which an Octet layer consumes these inputs, all of
/// them.
AxisOrder order_for(const LayerSpec& step, std::span<const KerasValue> inputs);
/// Returns the configuration with axes converted to that order. `rank` is that
/// of the inputs.
Config config_in(const AxisOrder& order, const LayerSpec& step, int rank);
/// Returns the order of the output.
AxisOrder order_after(const AxisOrder& order, const LayerSpec& step,
                      const Shape& input, const Shape& output);

/// Shape of a parameter in Keras, for a layer that consumes inputs in this
/// order, and the conversion of its values to Octet.
struct WeightOrder {
  Shape keras;
  std::function<Tensor(const Tensor&)> to_octet;  ///< empty: unchanged
};
WeightOrder weight_order(const AxisOrder& order, const LayerSpec& step,
                         const std::string& parameter, const Shape& shape);

/// Returns the effect of axis orders on a step; `keras` for user layers.
KerasLayout layout_of(const LayerSpec& step);
/// Whether a layer accepts images and sequences with channels first like
/// others.
bool takes_any_order(KerasLayout layout);

}  // namespace octet::io
