#include "plan/equal_scales.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string_view>
#include <utility>

#include <octet/quant/wrapper.h>

namespace octet::quant {
namespace {

constexpr std::array<std::string_view, 5> kSelecting = {
    "Concatenate", "Maximum", "Minimum", "UpSampling1D", "CenterCrop"};

bool interpolates(const GraphNode& node) {
  const std::string name = float_layer(*node.layer).class_name();
  return name == "UpSampling2D" || name == "Resizing" || name == "Interpolate";
}

bool is_nearest(const GraphNode& node) {
  const Config config = float_layer(*node.layer).config();
  for (const char* key : {"interpolation", "mode"}) {
    const Config* value = config.find(key);
    if (value != nullptr) return value->as_string() == "nearest";
  }
  return false;
}

// Returns whether a node pads with a value that may be outside the range of its
// input. Values near the lowest float, before maximum pools, become the lowest
// quantized value.
bool extends_range(const GraphNode& node) {
  if (!GraphIndex::is(node, "Pad")) return false;
  const Config config = float_layer(*node.layer).config();
  const double value = config.at("value").as_number();
  return config.at("mode") == Config("constant") && value != 0 &&
         value > double{std::numeric_limits<float>::lowest()} / 2;
}

bool is_function_layer(const GraphNode& node) {
  return node.inputs.size() == 1 && (GraphIndex::is(node, "Activation") ||
                                     GraphIndex::is(node, "Softmax"));
}

}  // namespace

float constant_scale(const GraphNode& node) {
  if (!is_function_layer(node)) return 0;
  const std::string function = node.facts().activation;
  if (function == "softmax" || function == "sigmoid") return 1.0f / 256;
  return function == "tanh" ? 1.0f / 128 : 0;
}

bool selects_values(const GraphNode& node) {
  if (extends_range(node)) return false;
  if (node.facts().role == LayerRole::movement) return true;
  if (node.inputs.size() == 1 && node.facts().identity != Identity::never) {
    return true;
  }
  if (interpolates(node)) return is_nearest(node);
  const std::string name = float_layer(*node.layer).class_name();
  return std::ranges::find(kSelecting, name) != kSelecting.end();
}

bool has_equal_scales(const GraphNode& node) {
  return selects_values(node) || extends_range(node) || interpolates(node) ||
         GraphIndex::is_spatial(node, "AveragePooling");
}

EqualScales::EqualScales(const GraphIndex& graph) : graph_(graph) {
  for (const auto& node : graph.model().nodes()) {
    parent_.emplace(node.get(), node.get());
    if (constant_scale(*node) > 0) constant_.insert(node.get());
  }
  for (const auto& node : graph.model().nodes()) {
    if (&graph.source(*node) != node.get() || !has_equal_scales(*node)) {
      continue;
    }
    for (const SymbolicTensor& x : node->inputs) {
      const GraphNode& source = graph.source(x);
      const bool constant = constant_.contains(&first(source));
      if (node->inputs.size() == 1 || !constant) unite(source, *node);
    }
  }
}

const GraphNode& EqualScales::first(const GraphNode& node) const {
  const GraphNode* at = &graph_.source(node);
  while (parent_.at(at) != at) at = parent_.at(at);
  return *at;
}

bool EqualScales::converts(const GraphNode& node, size_t input) const {
  return node.inputs.size() > 1 && has_equal_scales(node) &&
         &first(graph_.source(node.inputs[input])) != &first(node);
}

const GraphNode& EqualScales::first(const GraphNode& node,
                                    const QdqSite& site) const {
  if (site.kind == SiteKind::output) return first(node);
  const auto input = static_cast<size_t>(site.index);
  return converts(node, input) ? first(node)
                               : first(graph_.source(node.inputs[input]));
}

void EqualScales::unite(const GraphNode& a, const GraphNode& b) {
  const GraphNode* one = &first(a);
  const GraphNode* other = &first(b);
  if (other->id < one->id) std::swap(one, other);
  parent_[other] = one;
}

}  // namespace octet::quant
