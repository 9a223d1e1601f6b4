#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/model.h>
#include <octet/quant/patterns.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "plan/decisions.h"

namespace octet::quant {
namespace {

void check(const InsertQdqOptions& config) {
  const auto check_bits = [](const QuantizerConfig& each, const char* which) {
    if (each.bits >= 2 && each.bits <= 8) return;
    throw ValueError("out_of_range", which,
                     fmt::format("bits must be in [2,8], got {}", each.bits));
  };
  check_bits(config.activation, "InsertQdqOptions.activation");
  check_bits(config.weight, "InsertQdqOptions.weight");
  expect_for_activation("InsertQdqOptions.activation", config.activation);
  expect_for_weight("InsertQdqOptions.weight", config.weight);
}

std::set<std::string_view> skipped_classes(
    const std::vector<std::string>& names) {
  std::set<std::string_view> result;
  for (const std::string& name : names) {
    const LayerDef* def = find_layer_def(name);
    if (def == nullptr) {
      std::vector<std::string> known;
      for (const LayerDef* each : layer_defs()) {
        known.emplace_back(each->class_name);
      }
      throw NotFoundError("unknown_name",
                          "InsertQdqOptions.skip_weight_quant_for",
                          fmt::format("'{}' is not a layer class{}", name,
                                      suggest_names(name, known)));
    }
    result.insert(def->class_name);
  }
  return result;
}

std::string describe(const PatternMatch& match) {
  return fmt::format("match {} of {}", match.pattern,
                     fmt::join(match.layers, ", "));
}

// Converts matches to decisions on the layers of a model.
class MatchDecisions {
 public:
  MatchDecisions(const GraphIndex& graph, const InsertQdqOptions& config)
      : graph_(graph),
        skipped_(skipped_classes(config.skip_weight_quant_for)) {}

  void read(const PatternMatch& match) {
    if (match.layers.empty()) {
      throw ValueError("missing_value", fmt::format("match {}", match.pattern),
                       "has no layers");
    }
    check_chain(match);
    for (const MatchPoint& point : match.qdq_points) check(match, point);
    for (const std::string& name : match.layers) {
      const Layer& layer = find(match, name);
      const auto [entry, added] = decisions_.emplace(&layer, Decision{});
      if (!added) {
        throw ValueError("duplicate_name", describe(match),
                         fmt::format("layer '{}' is already in {}", name,
                                     owners_.at(&layer)));
      }
      owners_.emplace(&layer, describe(match));
      Decision& decision = entry->second;
      decision.rule = "pattern " + match.pattern;
      decision.reason = match.rationale;
      const auto place = [&](QdqSite site) {
        decision.sites.push_back(
            {std::move(site), decision.rule, decision.reason});
      };
      for (const MatchPoint& point : match.qdq_points) {
        if (point.layer == name) place(point.site);
      }
      if (match.qdq_points.empty()) continue;
      for (QdqSite& site : sites_inside(layer)) place(std::move(site));
    }
  }

  const Decisions& decisions() const { return decisions_; }

 private:
  const Layer& find(const PatternMatch& match, const std::string& name) const {
    const Layer* layer = graph_.find_layer(name);
    if (layer == nullptr) {
      throw NotFoundError(
          "unknown_name", describe(match),
          fmt::format("no layer '{}' in model '{}'{}", name,
                      graph_.model().name(),
                      suggest_names(name, layer_names(graph_.model()))));
    }
    return *layer;
  }

  void check(const PatternMatch& match, const MatchPoint& point) const {
    const auto same = [&](const MatchPoint& other) {
      return other.layer == point.layer && other.site == point.site;
    };
    if (std::ranges::count_if(match.qdq_points, same) > 1) {
      throw ValueError("duplicate_name", describe(match),
                       fmt::format("point {} of '{}' occurs twice",
                                   to_string(point.site), point.layer));
    }
    if (std::ranges::find(match.layers, point.layer) == match.layers.end()) {
      throw ValueError(
          "unknown_name", describe(match),
          fmt::format("a point is at '{}', which is not a layer of the match",
                      point.layer));
    }
    const Layer& layer = find(match, point.layer);
    switch (point.site.kind) {
      case SiteKind::intermediate:
      case SiteKind::weight:
        throw ValueError(
            "invalid_value", describe(match),
            fmt::format(
                "points must be inputs or outputs, got the {} '{}' of '{}', "
                "which any point of the match implies",
                point.site.kind == SiteKind::intermediate
                    ? "intermediate tensor"
                    : "weight",
                point.site.parameter, point.layer));
      case SiteKind::input:
        for (const GraphNode* call : graph_.calls(layer)) {
          const size_t count = call->inputs.size();
          if (point.site.index >= 0 &&
              static_cast<size_t>(point.site.index) < count) {
            continue;
          }
          throw ValueError(
              "out_of_range", describe(match),
              fmt::format("input index of '{}' must be in [0,{}), got {}",
                          point.layer, count, point.site.index));
        }
        break;
      case SiteKind::output:
        break;
    }
  }

  // Checks that each layer consumes its predecessor.
  void check_chain(const PatternMatch& match) const {
    for (size_t i = 0; i < match.layers.size(); ++i) {
      const Layer& layer = find(match, match.layers[i]);
      if (i == 0) continue;
      const GraphNode& before =
          *graph_.calls(find(match, match.layers[i - 1]))[0];
      const bool follows = std::ranges::any_of(
          graph_.consumers(before), [&](const GraphIndex::Consumer& consumer) {
            return consumer.node->layer.get() == &layer;
          });
      if (follows) continue;
      throw ValueError(
          "invalid_graph", describe(match),
          fmt::format("'{}' does not consume '{}' in model '{}'. Hint: use the "
                      "model that transform() returned",
                      match.layers[i], match.layers[i - 1],
                      graph_.model().name()));
    }
  }

  // Returns the sites of weights and the intermediate tensor.
  std::vector<QdqSite> sites_inside(const Layer& layer) const {
    const std::string name = layer.class_name();
    if (skipped_.contains(canonical_class_name(name))) return {};
    auto sites = sites_of(
        layer, {}, static_cast<int>(graph_.calls(layer)[0]->inputs.size()));
    std::erase_if(sites, [](const QdqSite& site) {
      return site.kind == SiteKind::input || site.kind == SiteKind::output;
    });
    return sites;
  }

  const GraphIndex& graph_;
  std::set<std::string_view> skipped_;
  Decisions decisions_;
  std::map<const Layer*, std::string> owners_;
};

}  // namespace

QdqPlan plan_of_matches(const Model& model,
                        const std::vector<PatternMatch>& matches,
                        const InsertQdqOptions& config) {
  check(config);
  check_is_float(model, "insert_qdq");
  const GraphIndex graph(model);
  MatchDecisions consumer(graph, config);
  for (const PatternMatch& match : matches) {
    if (match.apply) consumer.read(match);
  }
  return with_bits(plan_of_decisions(graph, consumer.decisions(),
                                     config.activation, config.weight),
                   model, config.bits);
}

Model insert_qdq(const Model& model, const std::vector<PatternMatch>& matches,
                 const InsertQdqOptions& config) {
  const QdqPlan plan = plan_of_matches(model, matches, config);
  if (plan.points.empty()) {
    throw ValueError(
        "unsupported_model", "insert_qdq",
        fmt::format(
            "no match has points for model '{}'. "
            "Hint: no layer is part of a pattern; the policies tensorrt and "
            "toolkit decide layer by layer",
            model.name()));
  }
  return apply(plan, model);
}

}  // namespace octet::quant
