// Policy::toolkit: class defaults of NVIDIA's toolkit and user-defined
// wrappers.
// Source: tensorflow-quantization 0.2.0, quantize_wrappers.py.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>

#include "placement/policies.h"

namespace octet::quant {
namespace {

// Classes that the toolkit wraps by default, of the ten it supports.
constexpr std::array<std::string_view, 5> kDefaults = {
    "AveragePooling2D", "Conv2D", "Dense", "DepthwiseConv2D",
    "GlobalAveragePooling2D"};

// Their 1-D forms, without wrappers in the toolkit.
constexpr std::array<std::string_view, 4> kSequenceDefaults = {
    "AveragePooling1D", "Conv1D", "DepthwiseConv1D", "GlobalAveragePooling1D"};

bool on_by_default(const std::string& layer_class,
                   const ToolkitPolicy& options) {
  if (std::ranges::find(kDefaults, layer_class) != kDefaults.end()) return true;
  if (!options.strict && std::ranges::find(kSequenceDefaults, layer_class) !=
                             kSequenceDefaults.end()) {
    return true;
  }
  const WrapperInfo info = wrapper_info(layer_class);
  return info.user_defined && info.enabled;
}

}  // namespace

Decisions toolkit_policy(const GraphIndex& graph, const Decisions& fixed,
                         const ToolkitPolicy& options) {
  Decisions decisions;
  for (const auto& node : graph.model().nodes()) {
    const Layer& layer = *node->layer;
    if (fixed.contains(&layer) || decisions.contains(&layer)) continue;
    const std::string layer_class = layer.class_name();
    if (!on_by_default(layer_class, options)) continue;
    decisions.emplace(&layer,
                      Decision{.sites = wrapper_sites(
                                   *node, "default",
                                   fmt::format("default of {}", layer_class)),
                               .rule = "default"});
  }
  return decisions;
}

}  // namespace octet::quant
