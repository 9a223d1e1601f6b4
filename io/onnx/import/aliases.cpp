// Names of a file's nodes that no layer has: nodes that only change the axis
// order, or that became a layer with another name.
#include <algorithm>
#include <set>
#include <string>

#include "importer.h"
#include "layer_names.h"
#include "onnx/check/proto_limits.h"

namespace octet::io::importing {
namespace {

/// Whether a value has the axes of its tensor, in any order, except for axes of
/// size 1.
bool has_axes_of_tensor(const ImportedValue& x) {
  const auto order = x.layout.stored_order();
  if (!order) return false;
  Dims axes = x.layout.transposed(*order).dims();
  Dims stored = x.layout.stored();
  std::erase_if(axes, [](const Dim& dim) { return dim.is_one(); });
  std::erase_if(stored, [](const Dim& dim) { return dim.is_one(); });
  return axes == stored;
}

/// The nodes that outputs depend on.
struct ReachedNodes {
  std::set<const GraphNode*> nodes;
  std::set<std::string> names;
  std::map<const GraphNode*, const GraphNode*> flattened;  // input: Flatten

  explicit ReachedNodes(std::span<const SymbolicTensor> outputs) {
    std::vector<const GraphNode*> open;
    for (const SymbolicTensor& y : outputs) open.push_back(y.node.get());
    while (!open.empty()) {
      const GraphNode* node = open.back();
      open.pop_back();
      if (!nodes.insert(node).second) continue;
      names.insert(node->layer->name());
      if (node->layer->class_name() == "Flatten") {
        flattened[node->inputs[0].node.get()] = node;
      }
      for (const SymbolicTensor& x : node->inputs) open.push_back(x.node.get());
    }
  }

  /// Returns the layer whose output has the axes of a value, or null.
  const GraphNode* layer_of(const ImportedValue& x) const {
    const GraphNode* node = x.tensor.node.get();
    if (!nodes.contains(node)) return nullptr;
    if (has_axes_of_tensor(x)) return node;
    const auto flat = flattened.find(node);
    const bool features = x.rank() == 2 && x.samples_lead();
    return features && flat != flattened.end() ? flat->second : nullptr;
  }
};

}  // namespace

std::map<std::string, std::string> Importer::aliases(
    std::span<const SymbolicTensor> outputs) const {
  const ReachedNodes reached(outputs);
  std::map<std::string, std::string> aliases;
  for (const OnnxNode& node : graph_.nodes()) {
    if (node.gone || node.proto.output_size() == 0 || node.origin.empty()) {
      continue;
    }
    // Of the nodes that a node replaces, the last has its output.
    const size_t row = std::ranges::max(node.origin);
    const std::string name = layer_name_of(graph_.report().nodes[row].node);
    const auto value = values_.find(node.proto.output(0));
    if (reached.names.contains(name) || value == values_.end()) continue;
    const GraphNode* layer = reached.layer_of(value->second);
    if (layer != nullptr) aliases[name] = layer->layer->name();
  }
  return aliases;
}

}  // namespace octet::io::importing
