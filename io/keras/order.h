// The order of axes: Octet's images are [n,h,w,c] and its sequences [n,l,c]
// wherever they come from, and a value remembers in which order Keras has it.
// Internal to io/keras.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include <octet/layers/graph.h>
#include <octet/layers/layer_def.h>

#include "keras/steps.h"

namespace octet::io {

struct Order {
  /// Of an image or a sequence: Keras has [n,c,h,w] or [n,c,l].
  bool channels_first = false;
  /// Of features that Keras flattened from [c,h,w], as Octet has them in the
  /// order h, w, c: these sizes; of a sequence with h = 1. Otherwise of rank 0.
  Shape flattened = {};

  bool operator==(const Order&) const = default;
};

struct Value {
  SymbolicTensor tensor;
  Order order = {};
};

/// The shape that Keras has for it, with the batch.
Shape keras_shape(const Value& value);

/// The same value in another order, by Permute and Reshape layers if need be.
/// A value that cannot have that order comes back as it is.
Value arranged(const Value& value, const Order& wanted);

/// The order in which a layer of Octet's takes these inputs, all of them.
Order order_for(const Step& step, std::span<const Value> inputs);
/// The configuration with its axes as they are in that order. `rank` is that
/// of the inputs.
Config config_in(const Order& order, const Step& step, int rank);
/// The order of the output.
Order order_after(const Order& order, const Step& step, const Shape& input,
                  const Shape& output);

/// The parameter's shape in Keras for a layer that takes inputs in this order,
/// and how values get from there to Octet.
struct WeightOrder {
  Shape keras;
  std::function<Tensor(const Tensor&)> to_octet;  ///< empty: as they are
};
WeightOrder weight_order(const Order& order, const Step& step,
                         const std::string& parameter, const Shape& shape);

/// What the order of values means to a step; `keras` for one of the user's.
KerasLayout layout_of(const Step& step);
/// Whether it takes images and sequences with channels first as it takes
/// others.
bool takes_any_order(KerasLayout layout);

}  // namespace octet::io
