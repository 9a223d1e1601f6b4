#include "plan/shared_quantizers.h"

#include <algorithm>

#include <fmt/format.h>

namespace octet::quant {
namespace {

std::string group_of(const GraphIndex& graph, const GraphNode& node,
                     const QdqSite& site) {
  const std::string& layer = node.layer->name();
  if (site.kind == SiteKind::intermediate || site.kind == SiteKind::weight) {
    return fmt::format("{}/{}", layer, site.parameter);
  }
  if (graph.is_called_once(*node.layer)) {
    return graph.tensor_name(tensor_at(graph, node, site));
  }
  // Calls of a shared layer have different tensors but a common wrapper.
  return site.kind == SiteKind::output
             ? fmt::format("{}/output", layer)
             : fmt::format("{}/input_{}", layer, site.index);
}

bool has_site(const GraphNode& node, const QdqSite& site) {
  return site.kind != SiteKind::input ||
         (site.index >= 0 &&
          static_cast<size_t>(site.index) < node.inputs.size());
}

}  // namespace

const GraphNode& tensor_at(const GraphIndex& graph, const GraphNode& node,
                           const QdqSite& site) {
  return site.kind == SiteKind::output
             ? graph.source(node)
             : graph.source(node.inputs[static_cast<size_t>(site.index)]);
}

QdqPlan assign_shared_quantizers(QdqPlan plan, const GraphIndex& graph) {
  for (QdqPoint& point : plan.points) {
    const Layer* layer = graph.find_layer(point.layer);
    if (!point.group.empty() || layer == nullptr) continue;
    const auto calls = graph.calls(*layer);
    const auto call = std::ranges::find_if(calls, [&](const GraphNode* node) {
      return has_site(*node, point.site);
    });
    if (call != calls.end()) point.group = group_of(graph, **call, point.site);
  }
  return plan;
}

}  // namespace octet::quant
