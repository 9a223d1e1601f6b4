// place(): combines the user's spec, the cases and the policy into a plan.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/model.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "placement/number_formats.h"
#include "placement/policies.h"
#include "placement/precedence.h"
#include "plan/name_pattern.h"

namespace octet::quant {
namespace {

// Handles unknown names: throws or warns.
class Unknown {
 public:
  explicit Unknown(OnUnknown on_unknown)
      : warns_(on_unknown == OnUnknown::warn) {}

  template <class E>
  void report(ErrorCode code, const SpecSource& source,
              const std::string& text) const {
    const std::string subject = fmt::format("{} spec", source.rule);
    if (!warns_) throw E(code, subject, text);
    warn(code, subject, text);
  }

 private:
  bool warns_;
};

bool asks(const QdqRequest& request) {
  return request.quantize_input || request.quantize_weight;
}

void check_class(const SpecEntry& entry, const SpecSource& source,
                 const Unknown& unknown) {
  const LayerDef* def = find_layer_def(entry.name);
  if (def == nullptr) {
    std::vector<std::string> known;
    for (const WrapperInfo& info : wrapper_infos()) {
      known.push_back(info.layer_class);
    }
    unknown.report<UnsupportedError>(
        "unsupported_layer", source,
        fmt::format("'{}' is not a layer class{}", entry.name,
                    suggest_names(entry.name, known)));
  } else if (asks(entry.request) &&
             wrapper_info(def->class_name).name.empty()) {
    unknown.report<UnsupportedError>(
        "unsupported_layer", source,
        fmt::format(
            "class {} has no quantize wrapper. Hint: register_wrapper adds one",
            def->class_name));
  }
}

void check_pattern(const Model& model, const SpecEntry& entry,
                   const SpecSource& source, const Unknown& unknown) {
  const NamePattern pattern(entry.name);
  bool matches = false;
  bool fits = false;
  for (const auto& layer : model.layers()) {
    if (!pattern.matches(layer->name())) continue;
    matches = true;
    fits = fits || !asks(entry.request) ||
           !wrapper_info(layer->class_name()).name.empty();
  }
  if (!matches) {
    unknown.report<NotFoundError>(
        "unknown_name", source,
        fmt::format("no layer of model '{}' matches '{}'{}", model.name(),
                    entry.name, suggest_names(entry.name, layer_names(model))));
  } else if (!fits) {
    unknown.report<UnsupportedError>(
        "unsupported_layer", source,
        fmt::format("no layer that matches '{}' in model '{}' has a quantize "
                    "wrapper. Hint: register_wrapper adds one",
                    entry.name, model.name()));
  }
}

void check_layer(const GraphIndex& graph, const SpecEntry& entry,
                 const SpecSource& source, const Unknown& unknown) {
  const Layer* found = graph.find_layer(entry.name);
  if (found == nullptr) {
    const Model& model = graph.model();
    const bool is_class = find_layer_def(entry.name) != nullptr;
    unknown.report<NotFoundError>(
        "unknown_name", source,
        fmt::format("no layer '{}' in model '{}'{}", entry.name, model.name(),
                    is_class ? ". Hint: for a class set is_keras_class, in a "
                               "file \"target\": \"class\""
                             : suggest_names(entry.name, layer_names(model))));
    return;
  }
  const Layer& layer = *found;
  if (asks(entry.request) && wrapper_info(layer.class_name()).name.empty()) {
    unknown.report<UnsupportedError>(
        "unsupported_layer", source,
        fmt::format("layer '{}' ({}) has no quantize wrapper. Hint: "
                    "register_wrapper adds one",
                    layer.name(), layer.class_name()));
  }
}

void check_entries(const GraphIndex& graph, const QuantizationSpec& spec,
                   const SpecSource& source, const Unknown& unknown) {
  for (const SpecEntry& entry : spec.entries()) {
    switch (entry.target) {
      case SpecTarget::layer:
        check_layer(graph, entry, source, unknown);
        break;
      case SpecTarget::pattern:
        check_pattern(graph.model(), entry, source, unknown);
        break;
      case SpecTarget::class_:
        check_class(entry, source, unknown);
        break;
    }
  }
}

std::string reason_of(const SpecEntry& entry, const SpecSource& source) {
  if (!source.reason.empty()) return source.reason;
  switch (entry.target) {
    case SpecTarget::layer:
      break;
    case SpecTarget::pattern:
      return fmt::format("layers like '{}'", entry.name);
    case SpecTarget::class_:
      return fmt::format("class {}", entry.name);
  }
  return "names the layer";
}

// Converts an entry to a decision for the node's layer, which has a wrapper.
Decision decision_of(const SpecEntry& entry, const GraphNode& node,
                     const SpecSource& source, const Unknown& unknown) {
  const int inputs = static_cast<int>(node.inputs.size());
  const Layer& layer = *node.layer;
  const QdqSites sites = wrapper_info(layer.class_name()).sites;
  const int offered = sites.quantizable_inputs(inputs);
  QdqRequest request = entry.request;
  std::erase_if(request.quantization_index, [&](int index) {
    if (index >= 0 && index < offered) return false;
    unknown.report<ValueError>(
        "out_of_range", source,
        fmt::format("quantization_index of {} '{}' must be in [0,{}), got {}",
                    layer.class_name(), layer.name(), offered, index));
    return true;
  });
  Decision decision{.rule = source.rule, .reason = "requests nothing"};
  if (request.quantization_index.empty() &&
      !entry.request.quantization_index.empty()) {
    request.quantize_input = false;
    decision.reason = "requests inputs that do not exist";
  }
  for (const QdqSite& site : sites.select(request, inputs)) {
    decision.sites.push_back({site, source.rule, reason_of(entry, source)});
  }
  return decision;
}

// Returns the entry of each layer, as QuantizationSpec::find(). Entry by entry,
// so that each pattern is compiled once and then freed.
std::map<const Layer*, const SpecEntry*> entries_by_layer(
    const Model& model, const QuantizationSpec& spec) {
  std::map<const Layer*, const SpecEntry*> found;
  for (const SpecEntry& entry : spec.entries()) {
    if (entry.target == SpecTarget::layer) continue;
    std::optional<NamePattern> pattern;
    if (entry.target == SpecTarget::pattern) pattern.emplace(entry.name);
    for (const auto& layer : model.layers()) {
      const bool fits = pattern ? pattern->matches(layer->name())
                                : canonical_class_name(entry.name) ==
                                      canonical_class_name(layer->class_name());
      const SpecEntry*& best = found[layer.get()];
      if (fits && (best == nullptr || entry.target <= best->target)) {
        best = &entry;
      }
    }
  }
  for (const auto& layer : model.layers()) {
    if (!spec.names_layer(layer->name())) continue;
    found[layer.get()] = spec.find(layer->name(), layer->class_name());
  }
  return found;
}

// Returns the decisions of a source for the layers named in its spec.
Decisions decisions_of(const GraphIndex& graph, const QuantizationSpec& spec,
                       const SpecSource& source, const Unknown& unknown) {
  check_entries(graph, spec, source, unknown);
  auto entries = entries_by_layer(graph.model(), spec);
  Decisions decisions;
  for (const auto& node : graph.model().nodes()) {
    const Layer& layer = *node->layer;
    const SpecEntry* entry = entries[&layer];
    if (entry == nullptr || decisions.contains(&layer)) continue;
    if (!wrapper_info(layer.class_name()).name.empty()) {
      decisions.emplace(&layer, decision_of(*entry, *node, source, unknown));
    } else if (!asks(entry->request)) {
      // Also overrides policies, which have rules for these layers, too.
      decisions.emplace(
          &layer, Decision{.rule = source.rule, .reason = "requests nothing"});
    }
  }
  return decisions;
}

// Returns the pad that has the Q/DQ of the layer's input (P20), or null.
const GraphNode* pad_of(const GraphIndex& graph, const Layer& layer,
                        const Decisions& decisions) {
  const GraphNode& call = *graph.calls(layer)[0];
  if (!graph.is_called_once(layer) || call.inputs.size() != 1) return nullptr;
  const GraphNode* node = &graph.source(call.inputs[0]);
  while (GraphIndex::is_spatial(*node, "ZeroPadding")) {
    const auto found = decisions.find(node->layer.get());
    if (found == decisions.end()) return nullptr;
    if (!found->second.sites.empty()) return node;
    node = &graph.source(node->inputs[0]);
  }
  return nullptr;
}

// `pad` is the pad of the layer's input, if any.
std::string sites_text(const Decision* decision,
                       const GraphNode* pad = nullptr) {
  std::vector<std::string> names;
  if (pad != nullptr) {
    names.push_back(fmt::format("input 0 before {}", pad->layer->name()));
  }
  if (decision != nullptr) {
    for (const PlacedSite& placed : decision->sites) {
      names.push_back(to_string(placed.site));
    }
  }
  if (names.empty()) return "nothing";
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Decision* find(const Decisions& decisions, const Layer& layer) {
  const auto found = decisions.find(&layer);
  return found == decisions.end() ? nullptr : &found->second;
}

// Decisions of all sources, strongest first.
using Precedence = std::vector<Decisions>;

std::string rule_of(const Decision* decision, std::string_view otherwise) {
  if (decision == nullptr) return std::string(otherwise);
  for (const PlacedSite& placed : decision->sites) {
    if (!placed.rule.empty() && placed.site.kind != SiteKind::weight) {
      return placed.rule;
    }
  }
  return decision->rule.empty() ? std::string(otherwise) : decision->rule;
}

void add_conflicts(const GraphIndex& graph, const Layer& layer,
                   const Precedence& sources, const Decisions* policy,
                   std::string_view policy_name,
                   std::vector<PlacementNote>& notes) {
  const Decision* winner = nullptr;
  const auto compare = [&](const Decision* other, const std::string& rule,
                           const GraphNode* pad = nullptr) {
    const std::string won = sites_text(winner);
    const std::string lost = sites_text(other, pad);
    if (won == lost) return;
    notes.push_back(
        {.kind = PlacementNote::Kind::conflict,
         .layer = layer.name(),
         .rule = winner->rule,
         .text = fmt::format("{} requests {}, {} requests {}; {} wins",
                             winner->rule, won, rule, lost, winner->rule)});
  };
  for (const Decisions& source : sources) {
    const Decision* decision = find(source, layer);
    if (decision == nullptr) continue;
    if (winner == nullptr) {
      winner = decision;
    } else {
      compare(decision, decision->rule);
    }
  }
  if (winner == nullptr || policy == nullptr) return;
  // A policy without a decision does not conflict.
  if (const Decision* decision = find(*policy, layer)) {
    const GraphNode* pad = pad_of(graph, layer, *policy);
    compare(decision, pad != nullptr ? "P20" : rule_of(decision, policy_name),
            pad);
  }
}

Decisions policy_of(const GraphIndex& graph, const Decisions& fixed,
                    const QuantizeOptions& options) {
  switch (options.policy) {
    case Policy::toolkit:
      return toolkit_policy(graph, fixed, options.toolkit);
    case Policy::tflite:
      return tflite_policy(graph, fixed);
    case Policy::tensorrt:
      break;
  }
  TensorrtPolicy tensorrt = options.tensorrt;
  tensorrt.skip_without_fp8 |=
      options.activation.format == NumberFormat::fp8_e4m3;
  return tensorrt_policy(graph, fixed, tensorrt);
}

std::string_view policy_name(Policy policy) {
  switch (policy) {
    case Policy::toolkit:
      return "toolkit";
    case Policy::tflite:
      return "tflite";
    case Policy::tensorrt:
      break;
  }
  return "tensorrt";
}

Model quantized(const Model& model, const QuantizeOptions& options) {
  const Placement placement = place(model, options);
  if (placement.plan.points.empty()) {
    throw ValueError(
        "unsupported_model", "quantize_model",
        fmt::format("model '{}' has no layers that can be quantized",
                    model.name()));
  }
  return apply(placement.plan, model);
}

}  // namespace

Placement place(const Model& model, const QuantizeOptions& options) {
  check_is_float(model, "quantize_model");
  const bool full = options.mode == QuantizationMode::full;
  const GraphIndex graph(model);
  const Unknown unknown(options.on_unknown);
  if (options.toolkit.strict && options.policy != Policy::toolkit) {
    throw ValueError("conflicting_options", "quantize_model",
                     fmt::format("toolkit.strict requires policy toolkit, got "
                                 "{}",
                                 policy_name(options.policy)));
  }

  Precedence sources;
  bool spoken = false;
  for (const SourcedSpec& each : by_precedence(model, options)) {
    spoken = spoken || !each.spec.empty();
    sources.push_back(decisions_of(graph, each.spec, each.source, unknown));
  }
  if (options.policy == Policy::tflite &&
      (options.activation.format != NumberFormat::integer ||
       options.weight.format != NumberFormat::integer)) {
    throw ValueError("conflicting_options", "quantize_model",
                     "Policy::tflite requires integers, got a floating-point "
                     "format");
  }
  if (!full && !spoken) {
    throw ValueError(
        "missing_value", "quantize_model",
        "partial mode needs a spec, or a case that returns entries");
  }
  Decisions fixed;
  for (const Decisions& source : sources) {
    fixed.insert(source.begin(), source.end());
  }

  Decisions all = fixed;
  std::optional<Decisions> alone;  // the policy without fixed decisions
  if (full) {
    Decisions rest = policy_of(graph, fixed, options);
    if (options.weights_only) keep_kernel_sites(rest, graph);
    all.insert(rest.begin(), rest.end());
    if (!fixed.empty()) alone = policy_of(graph, {}, options);
  }
  Placement placement;
  placement.plan = with_bits(
      plan_of_decisions(graph, all, options.activation, options.weight), model,
      options.bits);
  if (options.policy == Policy::tflite) {
    placement.plan =
        quantizers_for_tflite(std::move(placement.plan), graph, options.tflite);
  }
  fix_scales_behind_softmax(placement.plan, graph);
  const std::string policy =
      fmt::format("{} policy", policy_name(options.policy));
  for (const auto& layer : model.layers()) {
    add_conflicts(graph, *layer, sources, alone ? &*alone : nullptr, policy,
                  placement.notes);
    const Decision* decision = find(all, *layer);
    if (decision == nullptr || !decision->sites.empty()) continue;
    placement.notes.push_back({.kind = PlacementNote::Kind::skipped,
                               .layer = layer->name(),
                               .rule = decision->rule,
                               .text = decision->reason});
  }
  return placement;
}

Model quantize_model(const Model& model, const QuantizeOptions& options) {
  if (options.policy == Policy::tflite) {
    check_is_float(model, "quantize_model");
    return quantized(tflite_form(model), options);
  }
  return quantized(model, options);
}

}  // namespace octet::quant
