// Decisions: what the user, a case or a policy wants of each layer, before it
// becomes a plan.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <octet/quant/plan.h>
#include <octet/quant/quantize_model.h>

#include "graph_index.h"

namespace octet::quant {

struct PlacedSite {
  QdqSite site;
  std::string rule;
  std::string reason;
};

/// The sites that the wrapper of a layer's class gives Q/DQ.
std::vector<PlacedSite> wrapper_sites(const GraphNode& node,
                                      const std::string& rule,
                                      const std::string& reason);

/// A layer without a decision is left alone, and so is one without sites.
struct Decision {
  std::vector<PlacedSite> sites = {};
  /// Whose decision, and why there is nothing where there are no sites.
  std::string rule = {};
  std::string reason = {};
};

/// Looked up, never walked: pointers have no order that lasts.
using Decisions = std::map<const Layer*, Decision>;

/// What a policy wants of the layers that `fixed` does not speak of. It takes
/// account of what is fixed.
Decisions toolkit_policy(const GraphIndex& graph, const Decisions& fixed);
Decisions tensorrt_policy(const GraphIndex& graph, const Decisions& fixed,
                          const TensorrtPolicy& options);

/// The group of a site: that of its tensor, of the layer where it is called
/// several times, or of the weight.
std::string group_of(const GraphIndex& graph, const GraphNode& node,
                     const QdqSite& site);

/// The plan of decisions, in the model's order. Readers of one tensor get one
/// group; a layer that is called several times gets groups of its own.
QdqPlan plan_of_decisions(const GraphIndex& graph, const Decisions& decisions,
                          const QuantizerConfig& activation,
                          const QuantizerConfig& weight);

}  // namespace octet::quant
