// The functional graph: calling a layer on symbolic tensors adds a node. Nodes
// are immutable and shared; their ids increase in creation order, which breaks
// ties in traversals.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/runtime/tensor.h>

namespace octet {

struct GraphNode;

/// The output of a graph node: a shape without data.
struct [[nodiscard]] SymbolicTensor {
  std::shared_ptr<const GraphNode> node;  ///< its producer; null: empty tensor

  /// Returns the shape; the batch dimension is Shape::kAnySize.
  /// Throws: ValueError for an empty tensor.
  const Shape& shape() const;

  /// Slices each sample by a GetItem layer. The first index is the batch's and
  /// must leave it whole: Keras' x[:, 1:, 0] is x.index({Slice(), Slice(1),
  /// 0}).
  /// Throws: as GetItem.
  SymbolicTensor index(std::vector<Index> indices) const;
};

/// One call of a layer.
struct GraphNode {
  uint64_t id;  ///< unique in the process, increases in creation order
  std::shared_ptr<const Layer> layer;  ///< modified only through a Model
  std::vector<SymbolicTensor> inputs;  ///< arguments of the call, in order
  Shape shape;  ///< of the output; the batch dimension is Shape::kAnySize
  /// Node of the mask that the layer creates, once mask_of() has added it.
  mutable std::weak_ptr<const GraphNode> mask = {};

  /// Returns the layer's properties for these inputs.
  LayerFacts facts() const;
};

/// Calls `layer` on symbolic tensors and returns the output of the new node.
/// Throws: the errors of the layer's output_shape() and build_once(), with the
/// layer and the input shapes as context; ValueError for an empty tensor or a
/// null layer.
SymbolicTensor call(const std::shared_ptr<Layer>& layer,
                    std::vector<SymbolicTensor> inputs);

/// Returns the mask of a sequence as Keras propagates it: [n,t], 1 for steps
/// that count and 0 for steps to skip. Embedding with mask_zero and Masking
/// create masks; elementwise layers, Dense, normalizations, dropout, merges and
/// recurrent layers that return sequences pass them on. Without a mask, an
/// empty tensor.
SymbolicTensor mask_of(const SymbolicTensor& x);

/// Calls `layer` as Keras does: layers that skip steps (LSTM, GRU, SimpleRNN,
/// GlobalAveragePooling1D, ScaledDotProductAttention) receive the mask of their
/// inputs as a further input, unless `inputs` has it. Logs a warning if the
/// layer loses a mask. Throws: as call().
SymbolicTensor call_masked(const std::shared_ptr<Layer>& layer,
                           std::vector<SymbolicTensor> inputs);

/// A callable handle to a layer, the base of `Conv2D` and others. Copies share
/// the layer and its weights, so calling a handle twice shares the weights.
class LayerHandle {
 public:
  /// Creates a handle that shares `layer`. For custom classes, custom_layer()
  /// creates both.
  explicit LayerHandle(std::shared_ptr<Layer> layer)
      : layer_(std::move(layer)) {}

  /// Calls the layer on an input, or on a list of inputs. The first call
  /// creates the layer's parameters. Throws: as call_masked().
  SymbolicTensor operator()(const SymbolicTensor& x) const {
    return call_masked(layer_, {x});
  }
  SymbolicTensor operator()(std::vector<SymbolicTensor> inputs) const {
    return call_masked(layer_, std::move(inputs));
  }
  /// Does not compile: pass several inputs as a list, `Add()({x, y})`.
  template <class Second, class... More>
  SymbolicTensor operator()(const SymbolicTensor& x, const Second&,
                            const More&...) const {
    static_assert(sizeof(Second) == 0,  // always false
                  "a layer takes several inputs as one list: Add()({x, y})");
    return x;
  }

  /// Returns the layer, which all copies of the handle share.
  /// REQUIRES for * and ->: not null.
  Layer& operator*() const { return *layer_; }
  Layer* operator->() const { return layer_.get(); }
  const std::shared_ptr<Layer>& layer() const { return layer_; }

 private:
  std::shared_ptr<Layer> layer_;
};

/// Creates an input of a graph. `name` is unique in a model; empty: from the
/// class name, "input_layer". Shapes: `shape` is one sample, without the batch.
/// Throws: ShapeError for a dimension < 1.
SymbolicTensor input(const Shape& shape, std::string name = "");

/// Returns the shape and the producing layer: "[N,32,32,16] of Conv2D 'stem'".
/// An empty handle is "empty symbolic tensor".
std::string to_string(const SymbolicTensor& x);

/// Prints to_string(x).
std::ostream& operator<<(std::ostream& out, const SymbolicTensor& x);

}  // namespace octet
