#include "graph_index.h"

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/quant/twin.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {

void check_is_float(const Model& model, std::string_view who) {
  if (quantizers(model).empty()) return;
  throw ValueError(fmt::format(
      "{}: expected a float model, got '{}', which is quantized already", who,
      model.name()));
}

GraphIndex::GraphIndex(const Model& model) : model_(model) {
  for (const auto& node : model.nodes()) {
    auto& calls = calls_[node->layer.get()];
    const size_t call = calls.size();
    calls.push_back(node.get());
    Entry entry;
    const LayerDef* def =
        find_layer_def(float_layer(*node->layer).class_name());
    if (def != nullptr) entry.role = def->role;
    const bool passes =
        entry.role == LayerRole::identity && node->inputs.size() == 1;
    entry.source = passes ? &source(node->inputs[0]) : node.get();
    const std::string& name = float_layer(*node->layer).name();
    entry.tensor = call == 0 ? name : fmt::format("{}:{}", name, call);
    if (!passes) {
      for (size_t i = 0; i < node->inputs.size(); ++i) {
        entries_.at(&source(node->inputs[i]))
            .readers.push_back({node.get(), static_cast<int>(i)});
      }
    }
    entries_.emplace(node.get(), std::move(entry));
  }
  for (const SymbolicTensor& output : model.outputs()) {
    entries_.at(&source(output)).output = true;
  }
}

const GraphIndex::Entry& GraphIndex::at(const GraphNode& node) const {
  const auto found = entries_.find(&node);
  if (found == entries_.end()) {
    throw InternalError(
        fmt::format("graph index: expected a node of '{}'", model_.name()));
  }
  return found->second;
}

const GraphNode& GraphIndex::source(const SymbolicTensor& x) const {
  return source(*x.node);
}

const GraphNode& GraphIndex::source(const GraphNode& node) const {
  return *at(node).source;
}

std::span<const GraphIndex::Reader> GraphIndex::readers(
    const GraphNode& node) const {
  return at(source(node)).readers;
}

bool GraphIndex::is_output(const GraphNode& node) const {
  return at(source(node)).output;
}

int64_t GraphIndex::uses(const GraphNode& node) const {
  return static_cast<int64_t>(readers(node).size()) + (is_output(node) ? 1 : 0);
}

const std::string& GraphIndex::tensor_name(const GraphNode& node) const {
  return at(source(node)).tensor;
}

std::span<const GraphNode* const> GraphIndex::calls(const Layer& layer) const {
  return calls_.at(&layer);
}

LayerRole GraphIndex::role(const GraphNode& node) const {
  return at(node).role;
}

bool GraphIndex::is(const GraphNode& node, std::string_view class_name) {
  return float_layer(*node.layer).class_name() == class_name;
}

}  // namespace octet::quant
