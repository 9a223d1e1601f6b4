// Model inputs whose values are indices of Embedding layers.
#include <algorithm>
#include <cmath>
#include <map>

#include <octet/layers/embedding.h>
#include <octet/layers/model.h>

namespace octet {
namespace {

using Limits = std::map<const GraphNode*, int64_t>;

/// Lowers the limits of a node and of the nodes whose values it moves.
void limit_values(const GraphNode& from, int64_t limit, Limits& limits) {
  std::vector<const GraphNode*> nodes{&from};
  while (!nodes.empty()) {
    const GraphNode* node = nodes.back();
    nodes.pop_back();
    const auto [entry, is_new] = limits.try_emplace(node, limit);
    if (!is_new && entry->second <= limit) continue;
    entry->second = limit;
    const LayerFacts facts = node->facts();
    if (facts.role != LayerRole::movement &&
        facts.identity == Identity::never) {
      continue;
    }
    for (const SymbolicTensor& x : node->inputs) nodes.push_back(x.node.get());
  }
}

}  // namespace

std::vector<int64_t> index_limits(const Model& model) {
  Limits limits;
  for (const auto& node : model.nodes()) {
    if (node->layer->class_name() != "Embedding") continue;
    limit_values(*node->inputs[0].node,
                 node->layer->parameters()[0].variable.shape()[0], limits);
  }
  std::vector<int64_t> result;
  for (const SymbolicTensor& input : model.inputs()) {
    const auto found = limits.find(input.node.get());
    result.push_back(found == limits.end() ? 0 : found->second);
  }
  return result;
}

std::vector<Tensor> random_inputs(const Model& model, int64_t n, float low,
                                  float high, Rng rng) {
  const std::vector<int64_t> limits = index_limits(model);
  std::vector<Tensor> result;
  for (size_t i = 0; i < limits.size(); ++i) {
    Tensor& x = result.emplace_back(model.inputs()[i].shape().with(0, n));
    if (limits[i] == 0) {
      rng.fill_uniform(x, low, high);
      continue;
    }
    rng.fill_uniform(x, 0, 1);
    const auto count = static_cast<float>(limits[i]);
    for (float& value : x.f32()) {
      value = std::min(std::floor(value * count), count - 1);
    }
  }
  return result;
}

}  // namespace octet
