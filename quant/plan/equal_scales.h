// Tensors that TensorFlow Lite's integer operators quantize alike: inputs and
// output of Concatenate, Maximum, pooling, resizing and movement.
#pragma once

#include <map>
#include <set>

#include <octet/layers/graph.h>
#include <octet/quant/spec.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Returns whether output and inputs of the node have the same scale.
bool has_equal_scales(const GraphNode& node);
/// Returns whether each output value is an input value, so that quantized
/// inputs make quantized outputs: movement but padding with a value other than
/// 0, Concatenate, Maximum.
bool selects_values(const GraphNode& node);

/// Returns the output scale that TensorFlow Lite fixes for the function of an
/// activation layer: 1/256 for softmax and the sigmoid, 1/128 for tanh; 0 for
/// other layers.
float constant_scale(const GraphNode& node);

/// Classes of tensors with equal scales. Inputs with constant scales do not
/// determine the output scale of Concatenate and others.
class EqualScales {
 public:
  /// `graph` must outlive the object.
  explicit EqualScales(const GraphIndex& graph);

  /// Returns the first tensor, in the model's order, of the class of
  /// source(node)'s output.
  const GraphNode& first(const GraphNode& node) const;
  /// Returns the first tensor of the class of a quantizer at an input or
  /// output: of the tensor, or of the node's output if the input has another
  /// scale than the output needs.
  const GraphNode& first(const GraphNode& node, const QdqSite& site) const;
  /// Returns whether an input has another scale than the node's output needs.
  bool converts(const GraphNode& node, size_t input) const;

 private:
  void unite(const GraphNode& a, const GraphNode& b);

  const GraphIndex& graph_;
  std::map<const GraphNode*, const GraphNode*> parent_;
  std::set<const GraphNode*> constant_;  // outputs with constant scales
};

}  // namespace octet::quant
