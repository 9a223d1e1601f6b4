// Draft: what Policy::tensorrt has decided so far, call by call. A layer that
// is called several times gets, in the end, what all of its calls want.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "../decisions.h"
#include "../graph_index.h"

namespace octet::quant {

/// What the output of a node meets behind layers that let Q/DQ through.
struct Ahead {
  const GraphNode* quantized = nullptr;  ///< reads through Q/DQ
  const GraphNode* unmerged = nullptr;   ///< the same, with no merge between
  const GraphNode* floating = nullptr;   ///< LayerNormalization, Softmax (P17)
};

class Draft {
 public:
  /// Both must outlive the draft.
  Draft(const GraphIndex& graph, const Decisions& fixed);

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

  /// REQUIRES: all layers behind the node are decided and looked ahead from.
  void look_ahead(const GraphNode& node);
  const Ahead& ahead(const GraphNode& node) const;

  /// By layer, without what is fixed.
  Decisions decisions() const;

 private:
  const GraphIndex& graph_;
  const Decisions& fixed_;
  std::map<const GraphNode*, Decision> drafts_;
  std::set<const GraphNode*> behind_pads_;
  std::map<const GraphNode*, Ahead> ahead_;
};

/// A layer without Q/DQ, and why.
Decision left_alone(std::string rule, std::string reason);
/// Q/DQ at one input.
Decision quantized_input(int input, const std::string& rule,
                         std::string reason);

}  // namespace octet::quant
