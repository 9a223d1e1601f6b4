// Chains: consecutive layers that fit the steps of a pattern.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <octet/quant/patterns.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// A layer of a chain and its step. A layer with a built-in activation occurs
/// twice, with consecutive steps.
struct ChainLink {
  const GraphNode* node;
  int input;  ///< index of the input from the preceding layer; -1 for the first
  const PatternStep* step;
};

using Chain = std::vector<ChainLink>;

/// Finds the chains of a pattern.
class ChainFinder {
 public:
  /// Conditions that throw are added to `skipped`.
  ChainFinder(const GraphIndex& graph, const Pattern& pattern,
              const std::set<const Layer*>& taken,
              std::vector<TransformReport::Skipped>& skipped)
      : graph_(graph), pattern_(pattern), taken_(taken), skipped_(skipped) {}

  /// Returns the chain from `start` with as many optional steps as possible;
  /// empty if there is none.
  Chain from(const GraphNode& start);

  /// Returns the reason to skip the chain, or an empty string.
  std::string objection(const Chain& chain) const;

 private:
  bool fits(const PatternStep& step, const GraphNode& node);
  // Extends the chain by the steps from `next` on. `own` is the built-in
  // activation of its last layer, if any; empty if unnamed.
  bool extend(size_t next, const std::optional<std::string>& own, Chain& chain);
  // Returns the only consumer, if the chain can continue there.
  const GraphIndex::Consumer* successor(const GraphNode& node) const;
  // Returns nothing if the condition throws; `failure` has the message.
  std::optional<bool> ask(const Condition& condition, const GraphNode& node,
                          std::string& failure) const;
  // Returns whether the step's only_if admits the layer.
  bool admits(const PatternStep& step, const GraphNode& node);

  const GraphIndex& graph_;
  const Pattern& pattern_;
  const std::set<const Layer*>& taken_;
  std::vector<TransformReport::Skipped>& skipped_;
};

}  // namespace octet::quant
