// Adds quantizers with the file's scales to the layers of a model.
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "importer.h"
#include "quantizers.h"

namespace octet::io::importing {

SitePlan site_of(const std::string& layer, int input,
                 const ActivationQuantParams& qparams) {
  return {layer,
          quant::QdqSite::input(input),
          qparams.config,
          qparams.name,
          {qparams.scale}};
}

SitePlan site_of(const std::string& layer, const std::string& parameter,
                 const WeightQuantParams& qparams) {
  quant::QuantizerConfig config = quant::weight_quantizer(qparams.format);
  config.rule = quant::ScaleRule::fixed;
  config.per_channel = qparams.per_channel;
  config.narrow_range = !qparams.lowest;
  return {layer, quant::QdqSite::weight(parameter), config, "", qparams.scales};
}

void make_symmetric(SitePlan& site) {
  if (site.config.format != NumberFormat::integer || site.config.is_signed ||
      site.config.bits != 8)
    return;
  const int steps = std::max(site.config.high(), -site.config.low());
  site.config.is_signed = true;
  site.config.zero_point = 0;
  site.scales[0] *=
      static_cast<float>(steps) / static_cast<float>(site.config.high());
}

namespace {

/// Names of quantizers. Sites with the same tensor and parameters share a
/// quantizer.
class Groups {
 public:
  std::string of(const SitePlan& site, const GraphNode* read) {
    std::string& name = names_[{site.group, read, site.scales[0],
                                site.config.low(), site.config.high()}];
    if (name.empty()) name = unique(site.group);
    return name;
  }
  std::string unique(const std::string& wanted) {
    std::string name = wanted;
    for (int i = 1; !taken_.insert(name).second; ++i) {
      name = fmt::format("{}_{}", wanted, i);
    }
    return name;
  }

 private:
  std::map<std::tuple<std::string, const GraphNode*, float, int, int>,
           std::string>
      names_;
  std::unordered_set<std::string> taken_;
};

}  // namespace

Model with_quantizers(const Model& model, const std::vector<SitePlan>& sites) {
  quant::QdqPlan plan;
  Groups groups;
  std::unordered_map<std::string, const GraphNode*> calls;
  for (const auto& node : model.nodes()) {
    calls.try_emplace(node->layer->name(), node.get());
  }
  std::vector<const SitePlan*> used;
  for (const SitePlan& site : sites) {
    const auto call = calls.find(site.layer);
    if (call == calls.end()) continue;  // the layer is not part of the model
    const bool input = site.site.kind == quant::SiteKind::input;
    const auto index = static_cast<size_t>(site.site.index);
    plan.points.push_back(
        {.layer = site.layer,
         .site = site.site,
         .config = site.config,
         .group = input
                      ? groups.of(site, call->second->inputs[index].node.get())
                      : groups.unique(site.layer + "/" + site.site.parameter),
         .rule = "file",
         .reason = "scale of the file"});
    used.push_back(&site);
  }
  Model result = quant::apply(plan, model, Weights::share);
  std::unordered_map<std::string, const quant::BaseQuantizeWrapper*> wrappers;
  for (const auto& layer : result.layers()) {
    wrappers[layer->original_name()] = quant::as_wrapper(*layer);
  }
  for (const SitePlan* site : used) {
    const quant::PlacedQuantizer& placed =
        *wrappers.at(site->layer)->find(site->site);
    if (site->config.per_channel) {
      placed.quantizer->set_scales(site->scales);
    } else {
      placed.quantizer->set_scale(site->scales[0]);
    }
  }
  return result;
}

}  // namespace octet::io::importing
