#include "decisions.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include <octet/quant/wrapper_registry.h>

namespace octet::quant {
namespace {

// Inputs in ascending order, then the inner tensor, then weights as they were
// given, then the output.
int order(const QdqSite& site) {
  switch (site.kind) {
    case SiteKind::input:
      return site.index;
    case SiteKind::inner:
      return 1 << 20;
    case SiteKind::weight:
      return 1 << 21;
    case SiteKind::output:
      break;
  }
  return 1 << 22;
}

}  // namespace

std::vector<PlacedSite> wrapper_sites(const GraphNode& node,
                                      const std::string& rule,
                                      const std::string& reason) {
  std::vector<PlacedSite> result;
  for (QdqSite& site :
       sites_of(*node.layer, {}, static_cast<int>(node.inputs.size()))) {
    result.push_back({std::move(site), rule, reason});
  }
  return result;
}

std::string group_of(const GraphIndex& graph, const GraphNode& node,
                     const QdqSite& site) {
  const std::string& layer = node.layer->name();
  // Calls of a shared layer read and make different tensors through one
  // wrapper.
  const bool shared = graph.calls(*node.layer).size() > 1;
  switch (site.kind) {
    case SiteKind::inner:
    case SiteKind::weight:
      return fmt::format("{}/{}", layer, site.parameter);
    case SiteKind::output:
      return shared ? fmt::format("{}/output", layer) : graph.tensor_name(node);
    case SiteKind::input:
      break;
  }
  return shared ? fmt::format("{}/input_{}", layer, site.index)
                : graph.tensor_name(
                      *node.inputs[static_cast<size_t>(site.index)].node);
}

QdqPlan plan_of_decisions(const GraphIndex& graph, const Decisions& decisions,
                          const QuantizerConfig& activation,
                          const QuantizerConfig& weight) {
  QdqPlan plan;
  std::set<const Layer*> done;
  for (const auto& node : graph.model().nodes()) {
    const auto found = decisions.find(node->layer.get());
    if (found == decisions.end() || !done.insert(found->first).second) continue;
    std::vector<PlacedSite> sites = found->second.sites;
    std::ranges::stable_sort(sites, {},
                             [](const PlacedSite& s) { return order(s.site); });
    for (PlacedSite& placed : sites) {
      const bool is_weight = placed.site.kind == SiteKind::weight;
      std::string group = group_of(graph, *node, placed.site);
      plan.points.push_back({node->layer->name(), std::move(placed.site),
                             is_weight ? weight : activation,
                             std::move(placed.rule), std::move(placed.reason),
                             std::move(group)});
    }
  }
  return plan;
}

}  // namespace octet::quant
