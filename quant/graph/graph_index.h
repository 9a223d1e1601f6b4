// GraphIndex: producers and consumers of a model's tensors.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/layers/model.h>
#include <octet/quant/detail/fusion_rules.h>

namespace octet::quant {

enum class GraphMode {
  /// Skips layers that act only in training (LayerRole::identity): their
  /// consumers appear as consumers of their input.
  inference,
  training,  ///< includes every layer
};

/// Returns whether a class is the 1-D or 2-D form of `stem`: "MaxPooling" for
/// MaxPooling1D and MaxPooling2D.
bool is_spatial_class(std::string_view class_name, std::string_view stem);

class GraphIndex {
 public:
  struct Consumer {
    const GraphNode* node;
    int input;
  };

  /// `model` must outlive the index.
  explicit GraphIndex(const Model& model,
                      GraphMode mode = GraphMode::inference);

  const Model& model() const { return model_; }

  /// Returns the node that computes the tensor, looking through skipped layers.
  const GraphNode& source(const SymbolicTensor& x) const;
  const GraphNode& source(const GraphNode& node) const;
  /// Returns the consumers of source(node)'s output, in the model's order,
  /// without skipped layers.
  std::span<const Consumer> consumers(const GraphNode& node) const;
  /// Returns whether the output of source(node) is a model output.
  bool is_output(const GraphNode& node) const;
  /// Returns the number of consumers plus model outputs.
  int64_t uses(const GraphNode& node) const;

  /// Returns the name of source(node)'s output: the layer name, numbered for
  /// layers called several times.
  const std::string& tensor_name(const GraphNode& node) const;
  /// Returns a layer by name, or null.
  const Layer* find_layer(std::string_view name) const;
  /// Returns the nodes that call a layer, in the model's order.
  std::span<const GraphNode* const> calls(const Layer& layer) const;
  bool is_called_once(const Layer& layer) const;

  /// Returns the role of the node's layer.
  LayerRole role(const GraphNode& node) const;
  bool is_linear(const GraphNode& node) const {
    return role(node) == LayerRole::linear;
  }
  static bool is(const GraphNode& node, std::string_view class_name);
  /// Returns is_spatial_class() of the node's class.
  static bool is_spatial(const GraphNode& node, std::string_view stem);

  // A FusionGraph without skipped layers.
  using Node = GraphNode;
  using Value = const GraphNode*;
  std::vector<const GraphNode*> nodes() const;
  FusionKind kind(const GraphNode& node) const;
  FusionKind epilogue(const GraphNode& node) const;
  size_t input_count(const GraphNode& node) const { return node.inputs.size(); }
  const GraphNode* input(const GraphNode& node, size_t index) const {
    return &source(node.inputs[index]);
  }
  const GraphNode* producer(const GraphNode* value) const { return value; }
  uint64_t position(const GraphNode& node) const { return node.id; }
  bool broadcasts(const GraphNode& node) const;

 private:
  struct Entry {
    const GraphNode* source = nullptr;
    std::vector<Consumer> consumers = {};
    int64_t outputs = 0;  // model outputs
    LayerRole role = LayerRole::other;
    std::string tensor = {};
  };
  const Entry& at(const GraphNode& node) const;

  const Model& model_;
  std::map<const GraphNode*, Entry> entries_;
  std::map<const Layer*, std::vector<const GraphNode*>> calls_;
  std::map<std::string_view, const Layer*> layers_;
};

}  // namespace octet::quant
