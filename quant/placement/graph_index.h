// GraphIndex: a model's graph as placement looks at it, in inference: layers
// that only do something in training (LayerRole::identity) are seen through.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

/// Throws: ValueError that begins with `who` for a model that is quantized.
void check_is_float(const Model& model, std::string_view who);

class GraphIndex {
 public:
  struct Reader {
    const GraphNode* node;
    int input;
  };

  /// `model` must outlive the index.
  explicit GraphIndex(const Model& model);

  const Model& model() const { return model_; }

  /// The node whose output this is in inference.
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
  /// Nodes that call a layer, in the model's order.
  std::span<const GraphNode* const> calls(const Layer& layer) const;

  /// Of the layer, or of the layer inside a wrapper.
  LayerRole role(const GraphNode& node) const;
  static bool is(const GraphNode& node, std::string_view class_name);

 private:
  struct Entry {
    const GraphNode* source = nullptr;
    std::vector<Reader> readers = {};
    bool output = false;
    LayerRole role = LayerRole::other;
    std::string tensor = {};
  };
  const Entry& at(const GraphNode& node) const;

  const Model& model_;
  std::map<const GraphNode*, Entry> entries_;
  std::map<const Layer*, std::vector<const GraphNode*>> calls_;
};

}  // namespace octet::quant
