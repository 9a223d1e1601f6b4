// GraphIndex: who makes and who reads the tensors of a model.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer_def.h>
#include <octet/layers/model.h>

namespace octet::quant {

enum class GraphView {
  /// Layers that only do something in training (LayerRole::identity) are seen
  /// through: their readers read what they read.
  inference,
  training,  ///< every layer counts
};

/// Whether a class is that one over images or sequences: "MaxPooling" is
/// MaxPooling1D and MaxPooling2D.
bool is_spatial_class(std::string_view class_name, std::string_view stem);

class GraphIndex {
 public:
  struct Reader {
    const GraphNode* node;
    int input;
  };

  /// `model` must outlive the index.
  explicit GraphIndex(const Model& model,
                      GraphView view = GraphView::inference);

  const Model& model() const { return model_; }

  /// The node whose output this is.
  const GraphNode& source(const SymbolicTensor& x) const;
  const GraphNode& source(const GraphNode& node) const;
  /// All that read the output of source(node), in the model's order; layers
  /// that are seen through are not among them.
  std::span<const Reader> readers(const GraphNode& node) const;
  /// Whether the output of source(node) is one of the model's.
  bool is_output(const GraphNode& node) const;
  /// Reads plus model outputs.
  int64_t uses(const GraphNode& node) const;

  /// A name for the output of source(node): its layer's, with a number where
  /// the layer is called several times.
  const std::string& tensor_name(const GraphNode& node) const;
  /// Null if there is none.
  const Layer* find_layer(std::string_view name) const;
  /// Nodes that call a layer, in the model's order.
  std::span<const GraphNode* const> calls(const Layer& layer) const;
  bool is_called_once(const Layer& layer) const;

  /// role_of() the layer.
  LayerRole role(const GraphNode& node) const;
  bool is_linear(const GraphNode& node) const {
    return role(node) == LayerRole::linear;
  }
  static bool is(const GraphNode& node, std::string_view class_name);
  /// The same of is_spatial_class().
  static bool is_spatial(const GraphNode& node, std::string_view stem);

 private:
  struct Entry {
    const GraphNode* source = nullptr;
    std::vector<Reader> readers = {};
    int64_t outputs = 0;  // of the model
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
