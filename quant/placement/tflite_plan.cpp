// Quantizers of a plan of Policy::tflite.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "placement/policies.h"
#include "plan/equal_scales.h"

namespace octet::quant {
namespace {

QuantizerConfig constant_config(QuantizerConfig config, float scale) {
  config.rule = ScaleRule::fixed;
  config.asymmetric = false;
  config.zero_point = 0;
  // Probabilities are in [0,1), tanh in [-1,1).
  const bool wide = config.bits == 16;
  config.is_signed = wide || scale == 1.0f / 128;
  config.constant_scale = wide ? 1.0f / 32768 : scale;
  return config;
}

}  // namespace

QdqPlan quantizers_for_tflite(QdqPlan plan, const GraphIndex& graph,
                              const TflitePolicy& options) {
  const EqualScales equal(graph);
  struct Class {
    std::string group;  // of the first point
    float scale = 0;    // constant
  };
  std::map<const GraphNode*, Class> classes;
  std::set<std::string> names;  // of groups
  const auto class_of = [&](const QdqPoint& point) -> Class* {
    const Layer* layer = graph.find_layer(point.layer);
    if (layer == nullptr || point.site.kind == SiteKind::weight ||
        point.site.kind == SiteKind::intermediate) {
      return nullptr;
    }
    return &classes[&equal.first(*graph.calls(*layer)[0], point.site)];
  };
  for (const auto& node : graph.model().nodes()) {
    const float scale = constant_scale(*node);
    if (scale > 0) classes[&equal.first(*node)].scale = scale;
  }
  for (QdqPoint& point : plan.points) {
    if (point.site.kind == SiteKind::weight) {
      const Layer* layer = graph.find_layer(point.layer);
      const bool dense = layer != nullptr && layer->class_name() == "Dense";
      if (dense && !options.per_channel_dense) point.config.per_channel = false;
      continue;
    }
    // Activations of 16 bits are symmetric.
    point.config.is_signed = point.config.bits == 16;
    point.config.zero_point = 0;
    point.config.asymmetric = point.config.bits != 16;
    if (!point.config.asymmetric &&
        point.config.rule == ScaleRule::learned_affine) {
      point.config.rule = ScaleRule::learned;
    }
    Class* quantizer = class_of(point);
    if (quantizer == nullptr) continue;
    if (quantizer->group.empty()) {
      // The group of a converted input is the name of its producer, whose
      // output has another scale.
      quantizer->group =
          names.insert(point.group).second
              ? point.group
              : fmt::format("{}/{}", point.layer, to_string(point.site));
    }
    point.group = quantizer->group;
    if (quantizer->scale > 0) {
      point.config = constant_config(point.config, quantizer->scale);
    }
  }
  return plan;
}

}  // namespace octet::quant
