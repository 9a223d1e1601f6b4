#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/runtime/error.h>

#include "model/input.h"

namespace octet {

SymbolicTensor Rebuild::at(const SymbolicTensor& old) {
  copy_before(limit_);
  const auto found = made_.find(old.node.get());
  if (found == made_.end()) {
    throw ValueError("invalid_value", "Rebuild::at",
                     fmt::format("needs a tensor of model '{}' that is "
                                 "computed before node {}, got {}",
                                 model_.name(), limit_,
                                 old.node == nullptr
                                     ? "none"
                                     : fmt::format("the output of '{}'",
                                                   old.node->layer->name())));
  }
  return found->second;
}

SymbolicTensor Rebuild::call(const GraphNode& node,
                             std::vector<SymbolicTensor> inputs) {
  const std::shared_ptr<Layer> copy = copy_of(*node.layer);
  SymbolicTensor y = octet::call(copy, std::move(inputs));
  // Share at once, to free the memory of the parameters just built.
  if (weights_ == Weights::share) copy->share_parameters(*node.layer);
  return y;
}

Rebuild::Counts::Counts(const Model& model) {
  for (const auto& node : model.nodes()) {
    uses.try_emplace(node.get(), 0);
    for (const SymbolicTensor& x : node->inputs) ++uses[x.node.get()];
    ++calls[node->layer.get()];
  }
  for (const SymbolicTensor& x : model.outputs()) ++uses[x.node.get()];
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) ++owners[p.variable.id()];
  }
}

int64_t Rebuild::uses(const GraphNode& node) const {
  const auto found = counts_.uses.find(&node);
  return found == counts_.uses.end() ? 0 : found->second;
}

bool Rebuild::stands_alone(const Layer& layer) const {
  const auto calls = counts_.calls.find(&layer);
  return calls != counts_.calls.end() && calls->second == 1 &&
         std::ranges::all_of(layer.parameters(), [&](const Parameter& p) {
           return counts_.owners.at(p.variable.id()) == 1;
         });
}

const std::shared_ptr<Layer>& Rebuild::copy_of(const Layer& layer) {
  std::shared_ptr<Layer>& copy = copies_[&layer];
  if (copy == nullptr) {
    copy = rewrite_ ? rewrite_(layer, context_) : layer.clone(context_);
  }
  return copy;
}

// In model order, which the new nodes preserve.
void Rebuild::copy_before(size_t index) {
  for (; next_ < index; ++next_) {
    const GraphNode& node = *model_.nodes()[next_];
    if (made_.contains(&node)) continue;
    std::vector<SymbolicTensor> inputs;
    for (const SymbolicTensor& input : node.inputs) {
      inputs.push_back(made_.at(input.node.get()));
    }
    made_[&node] = call(node, std::move(inputs));
  }
}

void Rebuild::replace(size_t index, SymbolicTensor replacement) {
  const GraphNode& node = *model_.nodes()[index];
  const std::string& name = node.layer->name();
  if (counts_.uses.contains(replacement.node.get())) {
    throw ValueError(
        "invalid_value", "rebuild",
        fmt::format("the replacement of '{}' belongs to the old model. Hint: "
                    "Rebuild::at() returns its counterpart in the new model",
                    name));
  }
  if (!(replacement.shape() == node.shape)) {
    throw ShapeError(
        "shape_mismatch", "rebuild",
        fmt::format("the replacement of '{}' must be {}, got {}", name,
                    node.shape.to_string(), replacement.shape().to_string()));
  }
  made_[&node] = std::move(replacement);
}

// Layers with shared parameters share them again.
void Rebuild::copy_parameters() {
  std::map<uint64_t, const Layer*> owners;
  for (const auto& layer : model_.layers()) {
    const auto found = copies_.find(layer.get());
    if (found == copies_.end()) continue;  // replaced
    Layer& copy = *found->second;
    const auto own = layer->parameters();
    const auto owner =
        own.empty() ? owners.end() : owners.find(own[0].variable.id());
    if (owner == owners.end()) {
      if (!own.empty()) owners[own[0].variable.id()] = &copy;
      copy.copy_parameters(*layer);
    } else {
      copy.share_parameters(*owner->second);
    }
  }
}

Model Rebuild::finish() {
  copy_before(model_.nodes().size());
  if (weights_ == Weights::copy) copy_parameters();
  const auto counterparts = [&](std::span<const SymbolicTensor> tensors) {
    std::vector<SymbolicTensor> result;
    for (const SymbolicTensor& x : tensors) {
      result.push_back(made_.at(x.node.get()));
    }
    return result;
  };
  return Model(counterparts(model_.inputs()), counterparts(model_.outputs()),
               model_.options_);
}

Model Model::clone(const Rewriter& rewrite, Weights weights) const {
  return Rebuild(*this, rewrite, weights).finish();
}

std::optional<Model> Model::rebuild(const NodeRewriter& rewrite) const {
  const Rewriter equal_copies;
  Rebuild rebuild(*this, equal_copies, Weights::copy);
  bool changed = false;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    const GraphNode& node = *nodes_[i];
    if (is_input(*node.layer)) continue;
    rebuild.limit_ = i;
    std::optional<SymbolicTensor> replacement = with_context(
        [&] {
          return fmt::format("in replacement of '{}'", node.layer->name());
        },
        [&] { return rewrite(node, rebuild); });
    if (!replacement) continue;
    rebuild.replace(i, std::move(*replacement));
    changed = true;
  }
  if (!changed) return std::nullopt;
  return rebuild.finish();
}

}  // namespace octet
