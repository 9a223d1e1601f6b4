#include <algorithm>

#include <octet/layers/model.h>

namespace octet {
namespace {

void add_once(std::vector<std::string>& names, const std::string& name) {
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
}

}  // namespace

std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) names.push_back(layer->name());
  return names;
}

std::vector<std::string> predecessors(const Model& model,
                                      std::string_view layer) {
  const Layer& wanted = model.layer(layer);
  std::vector<std::string> names;
  for (const auto& node : model.nodes()) {
    if (node->layer.get() != &wanted) continue;
    for (const SymbolicTensor& input : node->inputs) {
      add_once(names, input.node->layer->name());
    }
  }
  return names;
}

std::vector<std::string> successors(const Model& model,
                                    std::string_view layer) {
  const Layer& wanted = model.layer(layer);
  std::vector<std::string> names;
  for (const auto& node : model.nodes()) {
    const bool reads =
        std::ranges::any_of(node->inputs, [&](const SymbolicTensor& input) {
          return input.node->layer.get() == &wanted;
        });
    if (reads) add_once(names, node->layer->name());
  }
  return names;
}

}  // namespace octet
