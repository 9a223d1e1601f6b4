// Axis orders: Octet's images are [n,h,w,c] and its sequences [n,l,c] in all
// models; each value records its axes in Keras. Internal to io/keras.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include <octet/layers/detail/axis_layout.h>
#include <octet/layers/graph.h>
#include <octet/layers/layer.h>

#include "keras/layer_sequence.h"

namespace octet::io {

/// The axis order of a layer's inputs: Keras', by default.
struct AxisOrder {
  /// Of images and sequences: [n,c,h,w] or [n,c,l] in Keras, channels last in
  /// Octet.
  bool channels_first = false;
  /// Of flattened images: Keras flattened other axes than Octet.
  std::optional<AxisLayout> features = {};
};

struct KerasValue {
  SymbolicTensor tensor;
  AxisLayout layout;  ///< from the tensor to Keras' axes
  /// Whether Keras loses the mask that mask_of() returns.
  bool unmasked = false;
  /// Whether Keras has a mask that the preceding layer does not use.
  bool unused_mask = false;
  /// Keras 3 has other values in masked steps, from merging layers.
  bool other_masked_steps = false;
};

KerasValue value_in(const AxisOrder& order, const SymbolicTensor& tensor);
AxisOrder order_of(const KerasValue& value);

/// Returns the shape in Keras, including the batch.
Shape keras_shape(const KerasValue& value);

/// Converts a value to another order, with Permute and Reshape layers if
/// necessary. Uses Keras' order for a value that cannot have that order.
KerasValue materialize(const KerasValue& value, const AxisOrder& wanted);

/// Returns the order in which an Octet layer consumes these inputs, all of
/// them.
AxisOrder order_for(const LayerSpec& step, std::span<const KerasValue> inputs);
/// Returns Octet's axis for an axis of Keras of a value in that order.
int64_t axis_in(const AxisOrder& order, int64_t axis, int rank);
/// Returns the configuration with axes converted to that order. `rank` is that
/// of the inputs.
Config config_in(const AxisOrder& order, const LayerSpec& step, int rank);
/// Returns the output `y` of a step for the first input `x`, which has that
/// order.
KerasValue value_after(const AxisOrder& order, const KerasValue& x,
                       const LayerSpec& step, const SymbolicTensor& y);

/// Returns the layout of a parameter of a layer that consumes inputs in this
/// order: from Keras' axes to Octet's.
AxisLayout weight_layout(const AxisOrder& order, const LayerSpec& step,
                         const std::string& parameter, const Shape& shape);

/// Returns the effect of axis orders on a step; `keras` for user layers.
KerasLayout layout_of(const LayerSpec& step);
/// Whether a layer accepts images and sequences with channels first like
/// others.
bool takes_any_order(KerasLayout layout);

}  // namespace octet::io
