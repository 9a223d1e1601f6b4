#include "patterns/chain.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>

#include "patterns/failure.h"

namespace octet::quant {
namespace {

bool names(const std::vector<std::string>& list, std::string_view name) {
  return std::ranges::any_of(list, [&](const std::string& each) {
    return canonical_class_name(each) == name;
  });
}

bool takes_function(const PatternStep& step, const std::string& function) {
  return std::ranges::find(step.activations, function) !=
             step.activations.end() ||
         std::ranges::find(step.roles, LayerRole::activation) !=
             step.roles.end();
}

// Returns the built-in activation of a linear layer, a separate step.
std::optional<std::string> built_in_activation(const GraphIndex& graph,
                                               const GraphNode& node) {
  if (!graph.is_linear(node)) return std::nullopt;
  std::string function = node.layer->facts().activation;
  if (function == "linear") return std::nullopt;
  return function;
}

}  // namespace

std::optional<bool> ChainFinder::ask(const Condition& condition,
                                     const GraphNode& node,
                                     std::string& failure) const {
  PatternLayer layer{.node = node};
  for (const GraphIndex::Consumer& consumer : graph_.consumers(node)) {
    layer.consumers.push_back(consumer.node);
  }
  const auto result =
      result_of<bool>([&] { return condition.holds(layer); }, failure);
  if (!result) {
    failure = fmt::format("'{}' threw: {}", condition.text, failure);
  }
  return result;
}

bool ChainFinder::admits(const PatternStep& step, const GraphNode& node) {
  if (!step.only_if.holds) return true;
  std::string failure;
  if (const auto holds = ask(step.only_if, node, failure)) return *holds;
  const TransformReport::Skipped entry{pattern_.name, node.layer->name(),
                                       failure};
  if (std::ranges::find(skipped_, entry) == skipped_.end()) {
    skipped_.push_back(entry);
  }
  return false;
}

bool ChainFinder::fits(const PatternStep& step, const GraphNode& node) {
  const Layer& layer = *node.layer;
  const std::string name = layer.class_name();
  const bool right =
      names(step.classes, name) ||
      std::ranges::find(step.roles, graph_.role(node)) != step.roles.end() ||
      (name == "Activation" && takes_function(step, layer.facts().activation));
  return right && admits(step, node);
}

const GraphIndex::Consumer* ChainFinder::successor(
    const GraphNode& node) const {
  if (graph_.uses(node) != 1 || graph_.is_output(node) ||
      !graph_.is_called_once(*node.layer)) {
    return nullptr;
  }
  const GraphIndex::Consumer& consumer = graph_.consumers(node)[0];
  const Layer& next = *consumer.node->layer;
  return taken_.contains(&next) || !graph_.is_called_once(next) ? nullptr
                                                                : &consumer;
}

bool ChainFinder::extend(size_t next, const std::optional<std::string>& own,
                         Chain& chain) {
  if (next == pattern_.steps.size()) return true;
  const PatternStep& step = pattern_.steps[next];
  const GraphNode& last = *chain.back().node;
  if (own) {
    if (takes_function(step, *own) && admits(step, last)) {
      chain.push_back({&last, chain.back().input, &step});
      if (extend(next + 1, std::nullopt, chain)) return true;
      chain.pop_back();
    }
  } else if (const GraphIndex::Consumer* consumer = successor(last);
             consumer != nullptr && fits(step, *consumer->node)) {
    chain.push_back({consumer->node, consumer->input, &step});
    if (extend(next + 1, built_in_activation(graph_, *consumer->node), chain)) {
      return true;
    }
    chain.pop_back();
  }
  return step.optional && extend(next + 1, own, chain);
}

Chain ChainFinder::from(const GraphNode& start) {
  // Model inputs are never matched.
  if (start.inputs.empty() || taken_.contains(start.layer.get())) return {};
  for (size_t i = 0; i < pattern_.steps.size(); ++i) {
    const PatternStep& step = pattern_.steps[i];
    if (fits(step, start)) {
      Chain chain{{&start, -1, &step}};
      if (extend(i + 1, built_in_activation(graph_, start), chain))
        return chain;
    }
    if (!step.optional) break;
  }
  return {};
}

std::string ChainFinder::objection(const Chain& chain) const {
  for (const ChainLink& link : chain) {
    const Condition& condition = link.step->skip_if;
    if (!condition.holds) continue;
    std::string failure;
    const auto holds = ask(condition, *link.node, failure);
    if (!holds) return failure;
    if (*holds) return condition.text;
  }
  return "";
}

}  // namespace octet::quant
