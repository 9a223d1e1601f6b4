// Decisions: what the user, a case, a policy or a pattern wants of each layer,
// before it becomes a plan.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Throws: ValueError that begins with `who` for a model that is quantized.
void check_is_float(const Model& model, std::string_view who);

/// The sites that the wrapper of a layer's class gives Q/DQ.
std::vector<PlacedSite> wrapper_sites(const GraphNode& node,
                                      const std::string& rule,
                                      const std::string& reason);

/// A layer without a decision is skipped, and so is one without sites.
struct Decision {
  std::vector<PlacedSite> sites = {};
  /// Whose decision, and why there is nothing where there are no sites.
  std::string rule = {};
  std::string reason = {};
};

/// Looked up, never walked: pointers have no order that lasts.
using Decisions = std::map<const Layer*, Decision>;

/// The plan of decisions, in the model's order. Readers of one tensor get one
/// group; a layer that is called several times gets groups of its own.
QdqPlan plan_of_decisions(const GraphIndex& graph, const Decisions& decisions,
                          const QuantizerConfig& activation,
                          const QuantizerConfig& weight);

}  // namespace octet::quant
