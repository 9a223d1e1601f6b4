// PlacementState: decisions of Policy::tensorrt so far, per call. A layer
// called several times finally gets the sites common to all calls.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/detail/fusion_rules.h>

#include "plan/decisions.h"

namespace octet::quant {

/// The first relevant successors of a node, looking through layers that commute
/// with Q/DQ.
struct Successors {
  const GraphNode* quantized = nullptr;  ///< has Q/DQ on its input
  const GraphNode* unmerged = nullptr;   ///< the same, without a merge between
  const GraphNode* floating = nullptr;   ///< LayerNormalization, Softmax (P17)
};

class PlacementState {
 public:
  /// Both must outlive the state.
  PlacementState(const GraphIndex& graph, const Decisions& fixed);

  const GraphIndex& graph() const { return graph_; }
  const Fusions<GraphNode>& fusions() const { return fusions_; }
  /// Returns whether the user or a case decided on the layer.
  bool is_fixed(const GraphNode& node) const;
  /// Returns the decision, or null if there is none yet.
  const Decision* find(const GraphNode& node) const;
  void decide(const GraphNode& node, Decision decision);

  /// Returns whether an input of the node has Q/DQ, possibly before a pad.
  bool reads_int8(const GraphNode& node, int input) const;
  /// Records that the Q/DQ of the node's first input is at its pad.
  void move_to_pad(const GraphNode& node);
  /// Removes Q/DQ from an input; `rule` and `reason` apply if no site remains.
  void take_back(const GraphNode& node, int input, std::string rule,
                 std::string reason);

  /// REQUIRES: all successors are decided and their own are found.
  void find_successors(const GraphNode& node);
  const Successors& successors(const GraphNode& node) const;

  /// Returns the decisions by layer, without fixed ones.
  Decisions decisions() const;

 private:
  const GraphIndex& graph_;
  Fusions<GraphNode> fusions_;
  const Decisions& fixed_;
  std::map<const GraphNode*, Decision> decided_;
  std::set<const GraphNode*> padded_;
  std::map<const GraphNode*, Successors> successors_;
};

/// Formats as "a", "a and b", "a, b and c" or "a, b and 3 more".
std::string name_list(const std::vector<std::string>& names);

/// Returns a decision without Q/DQ.
Decision skipped(std::string rule, std::string reason);
/// Returns a decision for Q/DQ at an input.
Decision quantized_input(int input, const std::string& rule,
                         std::string reason);

}  // namespace octet::quant
