// place(): the user's spec, the cases and the policy become one plan.
#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/quant/wrapper_registry.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>

#include "decisions.h"

namespace octet::quant {
namespace {

// Whoever gives a spec.
struct Author {
  std::string rule;         // "user", "case ResNetV1"
  std::string reason = {};  // a case's own words
};

// Refuses what is unknown, or warns of it.
class Unknown {
 public:
  explicit Unknown(OnUnknown on_unknown)
      : warns_(on_unknown == OnUnknown::warn) {}

  template <class E>
  void report(const std::string& message) const {
    if (!warns_) throw E(message);
    warn(message);
  }

 private:
  bool warns_;
};

std::vector<std::string> layer_names(const Model& model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) names.push_back(layer->name());
  return names;
}

void check_class(const SpecEntry& entry, const Author& author,
                 const Unknown& unknown) {
  if (!wrapper_info(entry.name).name.empty()) return;
  std::vector<std::string> known;
  for (const WrapperInfo& info : wrapper_infos()) {
    known.push_back(info.layer_class);
  }
  const LayerDef* def = find_layer_def(entry.name);
  unknown.report<UnsupportedError>(
      def == nullptr
          ? fmt::format("{}: expected a layer class, got '{}'{}", author.rule,
                        entry.name, suggest_names(entry.name, known))
          : fmt::format("{}: expected a class with a quantize wrapper, got {}; "
                        "register_wrapper adds one",
                        author.rule, def->class_name));
}

void check_entries(const Model& model, const QuantizationSpec& spec,
                   const Author& author, const Unknown& unknown) {
  const std::vector<std::string> names = layer_names(model);
  const auto has = [&](const std::function<bool(const std::string&)>& fits) {
    return std::ranges::any_of(names, fits);
  };
  for (const SpecEntry& entry : spec.entries()) {
    if (entry.target == SpecTarget::class_) {
      check_class(entry, author, unknown);
    } else if (entry.target == SpecTarget::pattern) {
      const std::regex pattern(entry.name);
      if (has([&](const auto& n) { return std::regex_match(n, pattern); })) {
        continue;
      }
      unknown.report<NotFoundError>(fmt::format(
          "{}: expected layers that match '{}' in '{}'{}", author.rule,
          entry.name, model.name(), suggest_names(entry.name, names)));
    } else if (!has([&](const auto& n) { return n == entry.name; })) {
      unknown.report<NotFoundError>(fmt::format(
          "{}: expected a layer '{}' in '{}'{}", author.rule, entry.name,
          model.name(), suggest_names(entry.name, names)));
    }
  }
}

// The request without indices that the layer does not have.
QdqRequest known_indices(const SpecEntry& entry, const GraphNode& node,
                         const Author& author, const Unknown& unknown,
                         bool& any) {
  QdqRequest request = entry.request;
  const int inputs = static_cast<int>(node.inputs.size());
  any = request.quantization_index.empty();
  std::erase_if(request.quantization_index, [&](int index) {
    if (index < inputs) return false;
    unknown.report<ValueError>(fmt::format(
        "{}: expected quantization_index in [0,{}) for layer '{}' ({}), got {}",
        author.rule, inputs, node.layer->name(), node.layer->class_name(),
        index));
    return true;
  });
  any = any || !request.quantization_index.empty();
  return request;
}

std::string reason_of(const SpecEntry& entry, const Author& author) {
  std::string what;
  switch (entry.target) {
    case SpecTarget::layer:
      what = "names the layer";
      break;
    case SpecTarget::pattern:
      what = fmt::format("layers like '{}'", entry.name);
      break;
    case SpecTarget::class_:
      what = fmt::format("class {}", entry.name);
      break;
  }
  return author.reason.empty() ? what : author.reason;
}

// What one author wants of the layers that the spec speaks of.
Decisions decisions_of(const GraphIndex& graph, const QuantizationSpec& spec,
                       const Author& author, const Unknown& unknown) {
  check_entries(graph.model(), spec, author, unknown);
  Decisions decisions;
  for (const auto& node : graph.model().nodes()) {
    const Layer& layer = *node->layer;
    const std::string layer_class = layer.class_name();
    const SpecEntry* entry = spec.find(layer.name(), layer_class);
    if (entry == nullptr || decisions.contains(&layer)) continue;
    if (wrapper_info(layer_class).name.empty()) {
      if (entry->target == SpecTarget::layer) {
        unknown.report<UnsupportedError>(fmt::format(
            "{}: expected a layer with a quantize wrapper, got '{}' ({}); "
            "register_wrapper adds one",
            author.rule, layer.name(), layer_class));
      }
      continue;
    }
    bool any = true;
    const QdqRequest request =
        known_indices(*entry, *node, author, unknown, any);
    Decision decision{.rule = author.rule, .reason = "asks for nothing"};
    if (any) {
      CloneContext context;
      const auto wrapper = make_wrapper(layer.clone(context));
      const auto sites = with_context(
          [&] { return fmt::format("{}: {}", author.rule, layer.describe()); },
          [&] {
            return wrapper->sites(request,
                                  static_cast<int>(node->inputs.size()));
          });
      for (const QdqSite& site : sites) {
        decision.sites.push_back(
            {site, author.rule, reason_of(*entry, author)});
      }
    }
    decisions.emplace(&layer, std::move(decision));
  }
  return decisions;
}

std::string sites_text(const Decision* decision) {
  if (decision == nullptr || decision->sites.empty()) return "nothing";
  std::vector<std::string> names;
  for (const PlacedSite& placed : decision->sites) {
    names.push_back(to_string(placed.site));
  }
  std::ranges::sort(names);
  return fmt::format("{}", fmt::join(names, ", "));
}

const Decision* find(const Decisions& decisions, const Layer& layer) {
  const auto found = decisions.find(&layer);
  return found == decisions.end() ? nullptr : &found->second;
}

// Who decides for each layer, the strongest first.
using Ranking = std::vector<Decisions>;

std::string rule_of(const Decision* decision, std::string_view otherwise) {
  if (decision == nullptr) return std::string(otherwise);
  for (const PlacedSite& placed : decision->sites) {
    if (!placed.rule.empty() && placed.site.kind != SiteKind::weight) {
      return placed.rule;
    }
  }
  return decision->rule.empty() ? std::string(otherwise) : decision->rule;
}

void add_conflicts(const Layer& layer, const Ranking& authors,
                   const Decisions* policy, std::string_view policy_name,
                   std::vector<PlacementNote>& notes) {
  const Decision* winner = nullptr;
  const auto compare = [&](const Decision* other, const std::string& rule) {
    const std::string won = sites_text(winner);
    const std::string lost = sites_text(other);
    if (won == lost) return;
    notes.push_back(
        {.kind = PlacementNote::Kind::conflict,
         .layer = layer.name(),
         .rule = winner->rule,
         .text = fmt::format("{} wants {}, {} {}; {} wins", winner->rule, won,
                             rule, lost, winner->rule)});
  };
  for (const Decisions& author : authors) {
    const Decision* decision = find(author, layer);
    if (decision == nullptr) continue;
    if (winner == nullptr) {
      winner = decision;
    } else {
      compare(decision, decision->rule);
    }
  }
  if (winner == nullptr || policy == nullptr) return;
  const Decision* decision = find(*policy, layer);
  compare(decision, rule_of(decision, policy_name));
}

Decisions policy_of(const GraphIndex& graph, const Decisions& fixed,
                    const QuantizeOptions& options) {
  return options.policy == Policy::toolkit
             ? toolkit_policy(graph, fixed)
             : tensorrt_policy(graph, fixed, options.tensorrt);
}

}  // namespace

Placement place(const Model& model, const QuantizeOptions& options) {
  if (!quantizers(model).empty()) {
    throw ValueError(fmt::format(
        "quantize_model: expected a float model, got '{}', which is quantized "
        "already",
        model.name()));
  }
  const bool full = options.mode == QuantizationMode::full;
  const GraphIndex graph(model);
  const Unknown unknown(options.on_unknown);

  Ranking authors{decisions_of(graph, options.spec, {.rule = "user"}, unknown)};
  bool spoken = !options.spec.empty();
  for (auto c = options.cases.rbegin(); c != options.cases.rend(); ++c) {
    const QuantizationSpec spec = (*c)->case_(model, options.spec);
    spoken = spoken || !spec.empty();
    authors.push_back(decisions_of(
        graph, spec, {.rule = "case " + (*c)->name(), .reason = (*c)->info()},
        unknown));
  }
  if (!full && !spoken) {
    throw ValueError(
        "quantize_model: expected a spec, or a case that returns entries, in "
        "partial mode, got none");
  }
  Decisions fixed;
  for (const Decisions& author : authors) {
    fixed.insert(author.begin(), author.end());
  }

  Decisions all = fixed;
  std::optional<Decisions> alone;  // the policy, were it asked alone
  if (full) {
    const Decisions rest = policy_of(graph, fixed, options);
    all.insert(rest.begin(), rest.end());
    if (!fixed.empty()) alone = policy_of(graph, {}, options);
  }
  Placement placement;
  placement.plan =
      plan_of_decisions(graph, all, options.activation, options.weight);
  const std::string_view policy_name =
      options.policy == Policy::toolkit ? "toolkit policy" : "tensorrt policy";
  for (const auto& layer : model.layers()) {
    add_conflicts(*layer, authors, alone ? &*alone : nullptr, policy_name,
                  placement.notes);
    const Decision* decision = find(all, *layer);
    if (decision == nullptr || !decision->sites.empty()) continue;
    placement.notes.push_back({.kind = PlacementNote::Kind::left_alone,
                               .layer = layer->name(),
                               .rule = decision->rule,
                               .text = decision->reason});
  }
  return placement;
}

Model quantize_model(const Model& model, const QuantizeOptions& options) {
  const Placement placement = place(model, options);
  if (placement.plan.points.empty()) {
    throw ValueError(fmt::format(
        "quantize_model: expected layers that can be quantized in '{}', got "
        "none",
        model.name()));
  }
  return apply(placement.plan, model);
}

}  // namespace octet::quant
