// Decisions: the Q/DQ sites chosen for each layer by the user, a case, a policy
// or a pattern, before planning.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Throws: ValueError with `who` for a quantized model.
void check_is_float(const Model& model, std::string_view who);

/// A site selected for quantization, with the rule that selects it.
struct PlacedSite {
  QdqSite site;
  std::string rule = {};    ///< as QdqPoint::rule
  std::string reason = {};  ///< explanation for users
};

/// Returns the sites that the wrapper of the layer's class quantizes.
std::vector<PlacedSite> wrapper_sites(const GraphNode& node,
                                      const std::string& rule,
                                      const std::string& reason);

/// The sites of a layer. Layers without a decision or sites are skipped.
struct Decision {
  std::vector<PlacedSite> sites = {};
  /// Deciding rule, and the reason if there are no sites.
  std::string rule = {};
  std::string reason = {};
};

/// For lookup only: the order of pointers varies.
using Decisions = std::map<const Layer*, Decision>;

/// Converts decisions to a plan, in the model's order. Consumers of a tensor
/// share a group; layers called several times have separate groups.
QdqPlan plan_of_decisions(const GraphIndex& graph, const Decisions& decisions,
                          const QuantizerConfig& activation,
                          const QuantizerConfig& weight);

}  // namespace octet::quant
