#include "graph/graph_index.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

FusionKind kind_of_function(const std::string& function) {
  if (function == "softmax") return FusionKind::floating;
  if (function == "sigmoid" || function == "hard_sigmoid") {
    return FusionKind::gate;
  }
  return FusionKind::activation;
}

// Returns the kind of layers without a role of their own.
FusionKind kind_of_class(const std::string& name) {
  if (name == "Embedding" || name == "GRU" || name == "LSTM" ||
      name == "LayerNormalization" || name == "ScaledDotProductAttention" ||
      name == "SimpleRNN" || name == "Softmax") {
    return FusionKind::floating;
  }
  if (name == "Concatenate") return FusionKind::concatenation;
  if (is_spatial_class(name, "AveragePooling") ||
      is_spatial_class(name, "GlobalAveragePooling")) {
    return FusionKind::average_pool;
  }
  return FusionKind::other;
}

}  // namespace

GraphIndex::GraphIndex(const Model& model, GraphMode mode) : model_(model) {
  for (const auto& node : model.nodes()) {
    auto& calls = calls_[node->layer.get()];
    const size_t call = calls.size();
    calls.push_back(node.get());
    layers_.emplace(node->layer->name(), node->layer.get());
    Entry entry{.role = node->layer->facts().role};
    const bool skipped = mode == GraphMode::inference &&
                         entry.role == LayerRole::identity &&
                         node->inputs.size() == 1;
    entry.source = skipped ? &source(node->inputs[0]) : node.get();
    const std::string& name = float_layer(*node->layer).name();
    entry.tensor = call == 0 ? name : fmt::format("{}:{}", name, call);
    if (!skipped) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        entries_.at(&source(node->inputs[i]))
            .consumers.push_back({node.get(), static_cast<int>(i)});
      }
    }
    entries_.emplace(node.get(), std::move(entry));
  }
  for (const SymbolicTensor& output : model.outputs()) {
    ++entries_.at(&source(output)).outputs;
  }
}

const GraphIndex::Entry& GraphIndex::at(const GraphNode& node) const {
  const auto found = entries_.find(&node);
  if (found == entries_.end()) {
    throw InternalError(
        "internal", "graph index",
        fmt::format("node is not part of model '{}'", model_.name()));
  }
  return found->second;
}

const GraphNode& GraphIndex::source(const SymbolicTensor& x) const {
  return source(*x.node);
}

const GraphNode& GraphIndex::source(const GraphNode& node) const {
  return *at(node).source;
}

std::span<const GraphIndex::Consumer> GraphIndex::consumers(
    const GraphNode& node) const {
  return at(source(node)).consumers;
}

bool GraphIndex::is_output(const GraphNode& node) const {
  return at(source(node)).outputs > 0;
}

int64_t GraphIndex::uses(const GraphNode& node) const {
  const Entry& entry = at(source(node));
  return static_cast<int64_t>(entry.consumers.size()) + entry.outputs;
}

const std::string& GraphIndex::tensor_name(const GraphNode& node) const {
  return at(source(node)).tensor;
}

const Layer* GraphIndex::find_layer(std::string_view name) const {
  const auto found = layers_.find(name);
  return found == layers_.end() ? nullptr : found->second;
}

std::span<const GraphNode* const> GraphIndex::calls(const Layer& layer) const {
  return calls_.at(&layer);
}

bool GraphIndex::is_called_once(const Layer& layer) const {
  return calls(layer).size() == 1;
}

LayerRole GraphIndex::role(const GraphNode& node) const {
  return at(node).role;
}

bool GraphIndex::is(const GraphNode& node, std::string_view class_name) {
  return float_layer(*node.layer).class_name() == class_name;
}

bool GraphIndex::is_spatial(const GraphNode& node, std::string_view stem) {
  return is_spatial_class(float_layer(*node.layer).class_name(), stem);
}

std::vector<const GraphNode*> GraphIndex::nodes() const {
  std::vector<const GraphNode*> result;
  for (const auto& node : model_.nodes()) {
    if (&source(*node) == node.get()) result.push_back(node.get());
  }
  return result;
}

FusionKind GraphIndex::kind(const GraphNode& node) const {
  switch (role(node)) {
    case LayerRole::linear:
      return FusionKind::linear;
    case LayerRole::normalization:
      return FusionKind::normalization;
    case LayerRole::activation:
      return kind_of_function(node.layer->facts().activation);
    case LayerRole::movement:
      return FusionKind::movement;
    case LayerRole::merge:
      return is(node, "Add")        ? FusionKind::add
             : is(node, "Multiply") ? FusionKind::multiply
                                    : FusionKind::merge;
    case LayerRole::identity:
    case LayerRole::other:
      break;
  }
  return kind_of_class(float_layer(*node.layer).class_name());
}

FusionKind GraphIndex::epilogue(const GraphNode& node) const {
  const std::string function = node.layer->facts().activation;
  return function == "linear" ? FusionKind::other : kind_of_function(function);
}

bool GraphIndex::broadcasts(const GraphNode& node) const {
  return std::ranges::any_of(node.inputs, [&](const SymbolicTensor& x) {
    return x.shape() != node.shape;
  });
}

bool is_spatial_class(std::string_view class_name, std::string_view stem) {
  if (!class_name.starts_with(stem)) return false;
  const std::string_view rest = class_name.substr(stem.size());
  return rest == "1D" || rest == "2D";
}

}  // namespace octet::quant
