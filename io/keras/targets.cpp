#include "keras/targets.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/layers/layer.h>
#include <octet/quant/wrapper.h>

#include "arranged.h"
#include "keras/attention.h"

namespace octet::io {
namespace {

void append(const TargetLayer& layer, std::vector<std::string>& path,
            std::vector<PlacedTarget>& targets) {
  for (const WeightTarget& weight : layer.weights) {
    path.push_back(weight.name);
    targets.push_back({path, &weight});
    path.pop_back();
  }
  for (const TargetLayer& part : layer.parts) {
    path.push_back(part.name);
    append(part, path, targets);
    path.pop_back();
  }
}

// Source: keras/src/ops/function.py, map_graph and its helpers: layers by
// distance from the outputs, in descending order; equal distances in the order
// of a traversal from the outputs.
std::vector<const Layer*> in_keras_order(const Model& model) {
  std::unordered_map<const Layer*, size_t> met;
  std::vector<const GraphNode*> finished;  // after their inputs
  std::unordered_set<const GraphNode*> seen;
  struct Visit {
    const GraphNode* node;
    size_t next;
  };
  std::vector<Visit> stack;
  const auto enter = [&](const SymbolicTensor& tensor) {
    const GraphNode* node = tensor.node.get();
    if (!seen.insert(node).second) return;
    met.emplace(node->layer.get(), met.size());
    stack.push_back({node, 0});
  };
  for (const SymbolicTensor& output : model.outputs()) {
    enter(output);
    while (!stack.empty()) {
      Visit& visit = stack.back();
      if (visit.next < visit.node->inputs.size()) {
        enter(visit.node->inputs[visit.next++]);
      } else {
        finished.push_back(visit.node);
        stack.pop_back();
      }
    }
  }
  std::unordered_map<const GraphNode*, size_t> node_depth;
  std::unordered_map<const Layer*, size_t> depth;
  for (auto node = finished.rbegin(); node != finished.rend(); ++node) {
    size_t& at = depth[(*node)->layer.get()];
    at = std::max(at, node_depth[*node]);
    node_depth[*node] = at;
    for (const SymbolicTensor& input : (*node)->inputs) {
      size_t& before = node_depth[input.node.get()];
      before = std::max(before, at + 1);
    }
  }
  std::vector<const Layer*> layers;
  for (const auto& layer : model.layers()) {
    if (met.contains(layer.get())) layers.push_back(layer.get());
  }
  std::ranges::stable_sort(layers, [&](const Layer* a, const Layer* b) {
    if (depth[a] != depth[b]) return depth[a] > depth[b];
    return met[a] < met[b];
  });
  return layers;
}

}  // namespace

bool has_weights(const TargetLayer& layer) {
  return !layer.weights.empty() ||
         std::ranges::any_of(layer.parts, has_weights);
}

std::vector<PlacedTarget> flattened(const TargetLayer& layer) {
  std::vector<PlacedTarget> targets;
  std::vector<std::string> path;
  append(layer, path, targets);
  std::ranges::stable_partition(
      targets, [](const PlacedTarget& t) { return t.target->trainable; });
  return targets;
}

std::vector<WeightTarget> weights_of(const Layer& layer) {
  std::vector<WeightTarget> weights;
  for (const Parameter& p : layer.parameters()) {
    weights.push_back({.name = p.name,
                       .layout = AxisLayout(dims_of(p.variable.shape())),
                       .variable = p.variable,
                       .trainable = p.trainable && p.variable.requires_grad(),
                       .integer = layer.class_name() == "Normalization" &&
                                  p.name == "count"});
  }
  return weights;
}

std::vector<TargetLayer> targets_of(const Model& model) {
  std::unordered_map<std::string, const Layer*> by_name;
  for (const auto& layer : model.layers()) {
    const Layer& plain = quant::float_layer(*layer);
    by_name[plain.name()] = &plain;
  }
  // Attention blocks, and the blocks of their projections.
  std::unordered_map<std::string, TargetLayer> blocks;
  std::unordered_map<std::string, std::string> block_of;
  for (const auto& [layer_name, layer] : by_name) {
    const std::optional<std::string> block = attention_block(*layer);
    if (!block) continue;
    auto target = attention_target(*block, [&](std::string_view part) {
      const auto found = by_name.find(fmt::format("{}/{}", *block, part));
      return found == by_name.end() ? nullptr : found->second;
    });
    if (!target) continue;
    blocks.emplace(*block, std::move(*target));
    for (const std::string_view part : kProjections) {
      block_of[fmt::format("{}/{}", *block, part)] = *block;
    }
  }
  std::vector<TargetLayer> targets;
  for (const Layer* given : in_keras_order(model)) {
    const Layer& layer = quant::float_layer(*given);
    const auto block = block_of.find(layer.name());
    if (block == block_of.end()) {
      targets.push_back({.name = layer.name(),
                         .class_name = layer.class_name(),
                         .weights = weights_of(layer)});
    } else if (auto target = blocks.extract(block->second)) {
      targets.push_back(std::move(target.mapped()));
    }
  }
  return targets;
}

void regroup(std::vector<TargetLayer>& targets,
             const std::vector<std::string>& names) {
  const std::unordered_set<std::string> there(names.begin(), names.end());
  std::vector<TargetLayer> result;
  std::unordered_map<std::string, size_t> models;
  for (TargetLayer& target : targets) {
    std::string model = target.name;
    while (!model.empty() && !there.contains(model)) {
      const size_t slash = model.rfind('/');
      model.resize(slash == model.npos ? 0 : slash);
    }
    if (model.empty() || model == target.name) {
      result.push_back(std::move(target));
      continue;
    }
    const auto [at, added] = models.emplace(model, result.size());
    if (added) {
      result.push_back(
          {.name = model, .class_name = "Functional", .is_model = true});
    }
    target.name.erase(0, model.size() + 1);
    result[at->second].parts.push_back(std::move(target));
  }
  targets = std::move(result);
}

}  // namespace octet::io
