// Chains: layers in a row that fit the steps of one pattern.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include <octet/quant/transform.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// A layer of a chain and the step it is there for. One that ends with an
/// activation of its own is there for two steps, one after the other.
struct ChainLink {
  const GraphNode* node;
  int input;  ///< that the layer before feeds; of the first layer, -1
  const PatternStep* step;
};

using Chain = std::vector<ChainLink>;

/// Looks for the chains of one pattern.
class ChainFinder {
 public:
  /// `skipped` takes conditions that throw.
  ChainFinder(const GraphIndex& graph, const Pattern& pattern,
              const std::set<const Layer*>& taken,
              std::vector<TransformReport::Skipped>& skipped)
      : graph_(graph), pattern_(pattern), taken_(taken), skipped_(skipped) {}

  /// The chain that begins at `start`, with as many optional steps as there
  /// are layers for; empty if there is none.
  Chain from(const GraphNode& start);

  /// Why the chain is to be skipped, or empty.
  std::string objection(const Chain& chain) const;

 private:
  bool fits(const PatternStep& step, const GraphNode& node);
  // Whether the steps from `next` on can extend the chain, whose last layer has
  // the activation `own` built in, if any; one without a name is empty.
  bool extend(size_t next, const std::optional<std::string>& own, Chain& chain);
  // The only reader, if the chain may go on there.
  const GraphIndex::Reader* successor(const GraphNode& node) const;
  // Nothing if it throws; `failure` then says what.
  std::optional<bool> ask(const Condition& condition, const GraphNode& node,
                          std::string& failure) const;
  // Whether the step's own condition lets the layer in.
  bool admits(const PatternStep& step, const GraphNode& node);

  const GraphIndex& graph_;
  const Pattern& pattern_;
  const std::set<const Layer*>& taken_;
  std::vector<TransformReport::Skipped>& skipped_;
};

}  // namespace octet::quant
