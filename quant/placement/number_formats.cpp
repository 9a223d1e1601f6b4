#include "placement/number_formats.h"

#include <algorithm>
#include <vector>

#include <octet/quant/detail/fusion_rules.h>

namespace octet::quant {

void keep_kernel_sites(Decisions& decisions, const GraphIndex& graph) {
  for (auto& [layer, decision] : decisions) {
    if (decision.sites.empty()) continue;
    const bool image = graph.calls(*layer)[0]->inputs[0].shape().rank() > 3;
    std::erase_if(decision.sites, [&](const PlacedSite& placed) {
      if (placed.site.kind != SiteKind::weight || image) return true;
      const Shape& kernel =
          layer->parameter(placed.site.parameter).variable.shape();
      return kernel.rank() != 2 || is_tiny_product(kernel[0], kernel[1]);
    });
    decision.rule = "P33";
    if (decision.sites.empty()) {
      decision.reason = "no kernel [in,out] of at least 16 inputs and outputs";
    }
    for (PlacedSite& placed : decision.sites) {
      placed.rule = "P33";
      placed.reason = "weights alone, activations in float";
    }
  }
}

void fix_scales_behind_softmax(QdqPlan& plan, const GraphIndex& graph) {
  for (QdqPoint& point : plan.points) {
    if (point.config.format != NumberFormat::fp8_e4m3 ||
        point.config.rule != ScaleRule::fixed ||
        point.site.kind != SiteKind::input) {
      continue;
    }
    const Layer* layer = graph.find_layer(point.layer);
    const auto input = static_cast<size_t>(point.site.index);
    const auto calls = graph.calls(*layer);
    const bool all = std::ranges::all_of(calls, [&](const GraphNode* call) {
      return graph.source(call->inputs[input]).layer->class_name() == "Softmax";
    });
    if (all) point.config.constant_scale = 1.0f / 448;
  }
}

}  // namespace octet::quant
