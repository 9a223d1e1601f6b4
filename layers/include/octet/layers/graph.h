// The functional graph: calling a layer on symbolic tensors adds a node.
// Nodes are immutable and shared; ids give the order of creation, which
// breaks every tie in a traversal.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/runtime/index.h>

namespace octet {

struct GraphNode;

/// The output of a graph node, before any data.
struct [[nodiscard]] SymbolicTensor {
  std::shared_ptr<const GraphNode> node;

  /// The batch is Shape::kAnySize.
  const Shape& shape() const;

  /// A part of each sample, by GetItem; the batch comes first and stays whole:
  /// Keras' x[:, 1:, 0] is x.index({Slice(), Slice(1), 0}).
  /// Throws: as GetItem.
  SymbolicTensor index(std::vector<Index> indices) const;
};

/// One call of a layer.
struct GraphNode {
  uint64_t id;
  std::shared_ptr<const Layer> layer;  ///< changed through a Model only
  std::vector<SymbolicTensor> inputs;
  Shape shape;
};

/// Calls `layer` on symbolic tensors. Throws: what the layer's output_shape
/// does, with the layer and the input shapes as context; ValueError for an
/// empty tensor.
SymbolicTensor call(const std::shared_ptr<Layer>& layer,
                    std::vector<SymbolicTensor> inputs);

/// False for every type: for static_assert in a template.
template <class>
inline constexpr bool kIsOneInput = false;

/// What `Conv2D({...})` is: a handle to a layer that can be called. Copies
/// share the layer and its weights, so calling one handle twice is a shared
/// layer.
class LayerHandle {
 public:
  explicit LayerHandle(std::shared_ptr<Layer> layer)
      : layer_(std::move(layer)) {}

  SymbolicTensor operator()(const SymbolicTensor& x) const {
    return call(layer_, {x});
  }
  SymbolicTensor operator()(std::vector<SymbolicTensor> inputs) const {
    return call(layer_, std::move(inputs));
  }
  /// Does not compile: several inputs are one list, `Add()({x, y})`.
  template <class Second, class... More>
  SymbolicTensor operator()(const SymbolicTensor& x, const Second&,
                            const More&...) const {
    static_assert(kIsOneInput<Second>,
                  "a layer takes several inputs as one list: Add()({x, y})");
    return x;
  }

  Layer& operator*() const { return *layer_; }
  Layer* operator->() const { return layer_.get(); }
  const std::shared_ptr<Layer>& layer() const { return layer_; }

 private:
  std::shared_ptr<Layer> layer_;
};

/// The start of a graph. Shapes: `shape` is one sample, without the batch.
/// Throws: ShapeError for a dimension < 1.
SymbolicTensor input(const Shape& shape, std::string name = "");

}  // namespace octet
