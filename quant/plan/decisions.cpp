#include "plan/decisions.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "plan/shared_quantizers.h"
#include "plan/signs.h"

namespace octet::quant {
namespace {

// `.weight = {.bits = 4}` leaves the other fields at activation defaults.
void warn_of_activation_defaults(const QuantizerConfig& weight) {
  if (weight.narrow_range || weight.rule != ScaleRule::fixed) return;
  warn("unusual_options", "weight",
       fmt::format("{} is a typical activation configuration. Hint: start from "
                   "weight_quantizer(), with live scales per channel, and "
                   "change its bits",
                   to_string(weight)));
}

}  // namespace

void check_is_float(const Model& model, std::string_view who) {
  if (!is_quantized(model)) return;
  throw ValueError(
      "already_quantized", std::string(who),
      fmt::format("model '{}' is already quantized. Hint: "
                  "OnnxImportOptions.drop_quantizers imports the float model "
                  "of an ONNX file",
                  model.name()));
}

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

QdqPlan plan_of_decisions(const GraphIndex& graph, const Decisions& decisions,
                          const QuantizerConfig& activation,
                          const QuantizerConfig& weight) {
  warn_of_activation_defaults(weight);
  QdqPlan plan;
  for (const auto& layer : graph.model().layers()) {
    const auto found = decisions.find(layer.get());
    if (found == decisions.end()) continue;
    std::vector<PlacedSite> sites = found->second.sites;
    std::ranges::stable_sort(sites, {}, [](const PlacedSite& placed) {
      return site_order(placed.site);
    });
    for (PlacedSite& placed : sites) {
      const bool is_weight = placed.site.kind == SiteKind::weight;
      plan.points.push_back({.layer = layer->name(),
                             .site = std::move(placed.site),
                             .config = is_weight ? weight : activation,
                             .rule = std::move(placed.rule),
                             .reason = std::move(placed.reason)});
    }
  }
  plan = assign_shared_quantizers(std::move(plan), graph);
  choose_signedness(plan, graph);
  return plan;
}

}  // namespace octet::quant
