// Quantizers at the layers of a model, with the scales of a file.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "converters.h"
#include "quantizers.h"

namespace octet::io::importing {

SitePlan site_of(const std::string& layer, int input,
                 const ActivationGrid& grid) {
  quant::QuantizerConfig config = quant::activation_quantizer();
  config.bits = grid.bits;
  config.narrow_range = grid.narrow;
  return {layer, quant::QdqSite::input(input), config, grid.name, {grid.scale}};
}

SitePlan site_of(const std::string& layer, const std::string& parameter,
                 const WeightGrid& grid) {
  quant::QuantizerConfig config = quant::weight_quantizer();
  config.rule = quant::ScaleRule::fixed;
  config.per_channel = grid.per_channel;
  return {layer, quant::QdqSite::weight(parameter), config, "", grid.scales};
}

Model with_quantizers(const Model& model, const std::vector<SitePlan>& sites) {
  quant::QdqPlan plan;
  // Readers of a pair share a quantizer where they read one tensor.
  std::map<std::string, std::vector<const GraphNode*>> tensors;
  std::unordered_map<std::string, const GraphNode*> calls;
  for (const auto& node : model.nodes()) {
    calls.try_emplace(node->layer->name(), node.get());
  }
  std::vector<const SitePlan*> used;
  for (const SitePlan& site : sites) {
    const auto call = calls.find(site.layer);
    if (call == calls.end()) continue;  // nothing reads the layer
    quant::QdqPoint point{{site.site, "file", "the file has a scale for it"},
                          site.layer,
                          site.config,
                          ""};
    if (site.site.kind == quant::SiteKind::input) {
      const GraphNode* read =
          call->second->inputs[static_cast<size_t>(site.site.index)].node.get();
      auto& known = tensors[site.group];
      auto at = std::ranges::find(known, read);
      if (at == known.end()) at = known.insert(at, read);
      const auto number = at - known.begin();
      point.group =
          number == 0 ? site.group : fmt::format("{}_{}", site.group, number);
    } else {
      point.group = site.layer + "/" + site.site.parameter;
    }
    plan.points.push_back(std::move(point));
    used.push_back(&site);
  }
  Model result = quant::apply(plan, model);
  for (const SitePlan* site : used) {
    for (auto& layer : result.layers()) {
      if (layer->original_name() != site->layer) continue;
      const auto* wrapper = quant::as_wrapper(*layer);
      const quant::PlacedQuantizer* placed =
          wrapper == nullptr ? nullptr : wrapper->find(site->site);
      if (placed == nullptr) continue;
      if (site->config.per_channel) {
        placed->quantizer->set_scales(site->scales);
      } else {
        placed->quantizer->set_scale(site->scales[0]);
      }
    }
  }
  return result;
}

void convert_dequantize(Conversion& c) {
  if (c.scores(0) != nullptr) {
    c.refuse("expected attention without Q/DQ between its products");
  }
  c.note("quantizer");
  c.quantize(c.options().drop_quantizers ? nullptr : c.grid());
}

}  // namespace octet::io::importing
