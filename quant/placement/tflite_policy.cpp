// Policy::tflite: Q/DQ on the outputs and weights of every layer that an
// integer operator of TensorFlow Lite computes.
// Source: "TensorFlow Lite 8-bit quantization specification",
// https://ai.google.dev/edge/litert/models/quantization_spec
#include <algorithm>
#include <array>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/embedding.h>
#include <octet/layers/model.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>

#include "placement/policies.h"
#include "plan/equal_scales.h"

namespace octet::quant {
namespace {

constexpr std::array<std::string_view, 11> kOwnScale = {
    "Add",
    "GlobalAveragePooling1D",
    "GlobalAveragePooling2D",
    "LayerScale",
    "LeakyReLU",
    "Matmul",
    "Multiply",
    "PReLU",
    "Reduce",
    "Rescaling",
    "Subtract"};

bool contains(std::span<const std::string_view> names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

bool only_clips(const GraphNode& node) {
  const std::string function = node.facts().activation;
  return node.inputs.size() == 1 &&
         (GraphIndex::is(node, "ReLU") || GraphIndex::is(node, "Activation")) &&
         (function == "relu" || function == "relu6");
}

// Activation layers whose operator has a free output scale.
bool has_operator(const GraphNode& node) {
  const std::string function = node.facts().activation;
  return only_clips(node) ||
         (GraphIndex::is(node, "Activation") &&
          (function == "hard_silu" || function == "hard_swish" ||
           function == "leaky_relu"));
}

class TflitePlacement {
 public:
  TflitePlacement(const GraphIndex& graph, const Decisions& fixed)
      : graph_(graph), fixed_(fixed), equal_(graph) {
    for (const BatchNormFold& fold : batch_norm_folds(graph.model())) {
      if (!fold.into.empty()) folded_.insert(fold.batch_norm);
    }
  }

  Decisions run() {
    for (const auto& node : graph_.model().nodes()) {
      if (&graph_.source(*node) == node.get()) decide(*node);
    }
    return std::move(decisions_);
  }

 private:
  void decide(const GraphNode& node) {
    const Layer& layer = *node.layer;
    if (node.inputs.empty()) return add_inputs(node);
    if (fixed_.contains(&layer)) return;
    const std::string name = layer.class_name();
    const bool linear = graph_.is_linear(node);
    if (linear) add_weights(node);
    if (selects_values(node)) return add_constant_inputs(node);
    if (linear || name == "BatchNormalization" || contains(kOwnScale, name)) {
      if (is_fused(node)) return;
      return add_output(node, "T01", "output of an integer operator");
    }
    if (constant_scale(node) > 0) {
      return add_output(node, "T03", "output range of the function");
    }
    if (has_operator(node)) {
      return add_output(node, "T01", "output of an integer operator");
    }
    if (has_equal_scales(node)) {
      return add_output(node, "T04", "output has the scale of the input");
    }
    decisions_.emplace(
        &layer,
        Decision{.rule = "T07", .reason = "stays float: no integer operator"});
  }

  // A quantizer at each consumer of a model input, unless it has indices.
  void add_inputs(const GraphNode& input) {
    if (has_indices(input)) return;
    for (const GraphIndex::Consumer& consumer : graph_.consumers(input)) {
      if (fixed_.contains(consumer.node->layer.get())) continue;
      add(*consumer.node, {.site = QdqSite::input(consumer.input),
                           .rule = "T06",
                           .reason = "input of the model"});
    }
  }

  void add_weights(const GraphNode& node) {
    for (PlacedSite& placed :
         wrapper_sites(node, "T02", "weight of an integer operator")) {
      const SiteKind kind = placed.site.kind;
      if (kind == SiteKind::weight || kind == SiteKind::intermediate) {
        add(node, std::move(placed));
      }
    }
  }

  // Inputs with constant scales need other quantizers where all scales are
  // equal.
  void add_constant_inputs(const GraphNode& node) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!equal_.converts(node, i)) continue;
      add(node, {.site = QdqSite::input(static_cast<int>(i)),
                 .rule = "T05",
                 .reason = "conversion to the scale of the output"});
    }
  }

  bool has_indices(const GraphNode& input) const {
    const Model& model = graph_.model();
    const std::vector<int64_t> limits = index_limits(model);
    for (size_t i = 0; i < limits.size(); ++i) {
      if (model.inputs()[i].node.get() == &input) return limits[i] > 0;
    }
    return false;
  }

  // Whether the only consumer, part of the same operator, has the output.
  bool is_fused(const GraphNode& node) const {
    if (graph_.uses(node) != 1 || graph_.consumers(node).empty() ||
        !graph_.is_called_once(*node.layer) ||
        node.facts().activation != "linear" || fused_alone(node)) {
      return false;
    }
    const GraphNode& next = *graph_.consumers(node)[0].node;
    if (fixed_.contains(next.layer.get())) return false;
    return only_clips(next) || folded_.contains(next.layer->name());
  }

  // Operators without a fused activation.
  static bool fused_alone(const GraphNode& node) {
    const std::string name = node.layer->class_name();
    return name == "PReLU" || name == "LeakyReLU" || name == "Matmul" ||
           name == "Reduce" || name.starts_with("GlobalAverage");
  }

  void add_output(const GraphNode& node, std::string rule, std::string reason) {
    add(node, {.site = QdqSite::output(),
               .rule = std::move(rule),
               .reason = std::move(reason)});
  }

  void add(const GraphNode& node, PlacedSite placed) {
    Decision& decision = decisions_[node.layer.get()];
    const bool known = std::ranges::any_of(
        decision.sites,
        [&](const PlacedSite& other) { return other.site == placed.site; });
    if (decision.rule.empty()) decision.rule = placed.rule;
    if (!known) decision.sites.push_back(std::move(placed));
  }

  const GraphIndex& graph_;
  const Decisions& fixed_;
  EqualScales equal_;
  std::set<std::string> folded_;
  Decisions decisions_;
};

}  // namespace

Decisions tflite_policy(const GraphIndex& graph, const Decisions& fixed) {
  return TflitePlacement(graph, fixed).run();
}

}  // namespace octet::quant
