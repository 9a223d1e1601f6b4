// PlacementState: what Policy::tensorrt has decided so far, call by call. A
// layer that is called several times gets, in the end, what all of its calls
// want.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "plan/decisions.h"

namespace octet::quant {

/// The first successors of a node, through layers that let Q/DQ through, that
/// matter to its placement.
struct Successors {
  const GraphNode* quantized = nullptr;  ///< reads through Q/DQ
  const GraphNode* unmerged = nullptr;   ///< the same, with no merge between
  const GraphNode* floating = nullptr;   ///< LayerNormalization, Softmax (P17)
};

class PlacementState {
 public:
  /// Both must outlive the state.
  PlacementState(const GraphIndex& graph, const Decisions& fixed);

  const GraphIndex& graph() const { return graph_; }
  /// Whether the user or a case speaks of the layer.
  bool is_fixed(const GraphNode& node) const;
  /// Null while nobody has decided.
  const Decision* find(const GraphNode& node) const;
  void decide(const GraphNode& node, Decision decision);

  /// Whether a node reads an input through Q/DQ, before a pad or not.
  bool reads_int8(const GraphNode& node, int input) const;
  /// The Q/DQ at a node's first input goes to its pad, or was there already.
  void move_to_pad(const GraphNode& node);
  /// Takes back an input's Q/DQ; `rule` and `reason` hold if it was the last.
  void take_back(const GraphNode& node, int input, std::string rule,
                 std::string reason);

  /// REQUIRES: all successors are decided and their own are found.
  void find_successors(const GraphNode& node);
  const Successors& successors(const GraphNode& node) const;

  /// By layer, without what is fixed.
  Decisions decisions() const;

 private:
  const GraphIndex& graph_;
  const Decisions& fixed_;
  std::map<const GraphNode*, Decision> decided_;
  std::set<const GraphNode*> padded_;
  std::map<const GraphNode*, Successors> successors_;
};

/// A layer without Q/DQ, and why.
Decision skipped(std::string rule, std::string reason);
/// Q/DQ at one input.
Decision quantized_input(int input, const std::string& rule,
                         std::string reason);

}  // namespace octet::quant
