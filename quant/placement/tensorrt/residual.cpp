#include <algorithm>

#include <fmt/format.h>

#include "placement/tensorrt/rules.h"

namespace octet::quant {
namespace {

std::string input_name(const GraphIndex& graph, const GraphNode& node,
                       size_t input) {
  return graph.tensor_name(graph.source(node.inputs[input]));
}

Decision all_inputs(const GraphIndex& graph, const GraphNode& node,
                    const std::string& rule, const std::string& why) {
  Decision decision{.rule = rule};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    decision.sites.push_back(
        {QdqSite::input(static_cast<int>(i)), rule,
         fmt::format("{}; from {}", why, input_name(graph, node, i))});
  }
  return decision;
}

// The branch that fuses with the Add, and the reason.
struct Choice {
  size_t input = 0;
  std::string rule;
  std::string reason;
};

Choice choose(const GraphIndex& graph, const GraphNode& node,
              const std::vector<LinearChain<GraphNode>>& branches,
              const std::vector<size_t>& candidates) {
  const auto linear = [&](size_t i) {
    return graph.tensor_name(*branches[i].linear);
  };
  if (candidates.size() == 1) {
    const size_t only = candidates[0];
    return {only, "P04", fmt::format("{} fuses with the Add", linear(only))};
  }
  const auto paths = paths_to_ancestor(graph, node);
  const size_t longest = longest_branch(candidates, paths.layers);
  std::vector<std::string> others;
  for (const size_t i : candidates) {
    if (i != longest) others.push_back(std::to_string(paths.layers[i]));
  }
  return {longest, "P07",
          fmt::format("{} fuses with the Add: {} layers back to {}, not {}",
                      linear(longest), paths.layers[longest],
                      !paths.complete ? "where the search ends"
                      : paths.ancestor == nullptr
                          ? "the inputs"
                          : graph.tensor_name(*paths.ancestor),
                      name_list(others))};
}

Decision residual(const GraphIndex& graph, const GraphNode& node,
                  const std::vector<LinearChain<GraphNode>>& branches,
                  const Choice& choice) {
  Decision decision{.rule = choice.rule};
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (i == choice.input) continue;
    std::string rule = choice.rule;
    std::string from = input_name(graph, node, i);
    if (const GraphNode* used = branches[i].used_more) {
      rule = "P08";
      from += used == &graph.source(node.inputs[i])
                  ? ", which others read too"
                  : fmt::format(", where others read {} too",
                                graph.tensor_name(*used));
    }
    decision.sites.push_back(
        {QdqSite::input(static_cast<int>(i)), rule,
         fmt::format("residual input from {}; {}", from, choice.reason)});
  }
  return decision;
}

}  // namespace

Decision decide_add(const PlacementState& state, const GraphNode& node,
                    const TensorrtPolicy& options) {
  if (!options.residual) {
    return skipped("P04", "residual = false skips Adds");
  }
  const GraphIndex& graph = state.graph();
  const Successors& successors = state.successors(node);
  if (successors.quantized == nullptr && successors.floating != nullptr) {
    return skipped("P17", fmt::format("leads only to {}, which stays float",
                                      graph.tensor_name(*successors.floating)));
  }
  std::vector<LinearChain<GraphNode>> branches;
  branches.reserve(node.inputs.size());
  for (const SymbolicTensor& x : node.inputs) {
    branches.push_back(state.fusions().chain(graph.source(x)));
  }
  // INT8 branches that fuse, if any, otherwise float ones.
  std::vector<size_t> candidates;
  std::vector<size_t> in_float;
  for (const size_t i : state.fusions().fusing_inputs(node)) {
    const bool int8 = state.reads_int8(*branches[i].linear, 0);
    (int8 ? candidates : in_float).push_back(i);
  }
  if (candidates.empty() && successors.quantized == nullptr) {
    return skipped("P06",
                   "no INT8 convolution fuses with it, and none reads the sum");
  }
  if (candidates.empty()) candidates = in_float;
  if (candidates.empty()) {
    const std::string& consumer = graph.tensor_name(*successors.quantized);
    return graph.broadcasts(node)
               ? all_inputs(graph, node, "P22",
                            fmt::format("the shapes differ, so nothing fuses "
                                        "with the Add, and {} reads the sum",
                                        consumer))
               : all_inputs(graph, node, "P06",
                            fmt::format("no convolution fuses with the Add, "
                                        "and {} reads the sum",
                                        consumer));
  }
  const Choice choice = choose(graph, node, branches, candidates);
  return residual(graph, node, branches, choice);
}

}  // namespace octet::quant
