#include "added_layers.h"

#include <algorithm>
#include <memory>
#include <set>

#include <octet/layers/layer.h>

#include "keras/names.h"

namespace octet::io {
std::vector<const GraphNode*> added_nodes(
    std::span<const SymbolicTensor> inputs,
    std::span<const SymbolicTensor> outputs) {
  // Ids increase in creation order.
  uint64_t newest = 0;
  for (const SymbolicTensor& x : inputs) {
    newest = std::max(newest, x.node->id);
  }
  std::vector<const GraphNode*> open;
  for (const SymbolicTensor& y : outputs) open.push_back(y.node.get());
  const auto by_id = [](const GraphNode* a, const GraphNode* b) {
    return a->id < b->id;
  };
  std::set<const GraphNode*, decltype(by_id)> added;
  while (!open.empty()) {
    const GraphNode* node = open.back();
    open.pop_back();
    if (node->id <= newest || !added.insert(node).second) continue;
    for (const SymbolicTensor& x : node->inputs) open.push_back(x.node.get());
  }
  return {added.begin(), added.end()};
}

void name_added_layers(
    std::span<const SymbolicTensor> inputs, const SymbolicTensor& y,
    const std::string& name,
    const std::function<std::string(const std::string&)>& unique) {
  for (const GraphNode* node : added_nodes(inputs, std::span(&y, 1))) {
    const bool last = node == y.node.get();
    std::const_pointer_cast<Layer>(node->layer)
        ->set_name(unique(
            last ? name
                 : name + "/" + keras_snake_case(node->layer->class_name())));
  }
}

}  // namespace octet::io
