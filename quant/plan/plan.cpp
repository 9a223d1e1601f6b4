#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <octet/layers/model.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

#include "plan/equal_scales.h"
#include "plan/shared_quantizers.h"

namespace octet::quant {
namespace {

std::string describe(const QdqPoint& point) {
  return fmt::format("plan point '{}' {}", point.layer, to_string(point.site));
}

void check(const QdqPlan& plan, const GraphIndex& graph) {
  std::set<std::pair<std::string, std::string>> seen;
  std::map<std::string, const QdqPoint*> groups;
  std::map<std::string, std::set<const GraphNode*>> tensors, classes;
  const EqualScales equal(graph);
  std::map<std::string, int> members;
  std::set<std::string> alone;  // groups limited to one point
  for (const QdqPoint& point : plan.points) {
    const Layer* layer = graph.find_layer(point.layer);
    if (layer == nullptr &&
        graph.find_layer(quantized_name(point.layer)) != nullptr) {
      throw ValueError("already_quantized",
                       fmt::format("layer '{}'", point.layer),
                       fmt::format("already quantized in model '{}'. Hint: "
                                   "apply plans to the float model",
                                   graph.model().name()));
    }
    if (layer == nullptr) {
      throw NotFoundError(
          "unknown_name", fmt::format("plan point '{}'", point.layer),
          fmt::format("no such layer in model '{}'{}", graph.model().name(),
                      suggest_names(point.layer, layer_names(graph.model()))));
    }
    if (!seen.emplace(point.layer, to_string(point.site)).second) {
      throw ValueError("duplicate_name", describe(point), "occurs twice");
    }
    const auto [first, added] = groups.emplace(point.group, &point);
    if (!added && !(first->second->config == point.config)) {
      throw ValueError(
          "invalid_value", describe(point),
          fmt::format(
              "points of group '{}' must have one configuration, got {} and {}",
              point.group, to_string(first->second->config),
              to_string(point.config)));
    }
    ++members[point.group];
    if (point.site.kind == SiteKind::weight) {
      (void)layer->parameter(point.site.parameter);
      expect_for_weight(describe(point), point.config);
      alone.insert(point.group);
      continue;
    }
    expect_for_activation(describe(point), point.config);
    if (point.site.kind == SiteKind::intermediate) {
      expect_intermediate(*layer, point.site.parameter);
      alone.insert(point.group);
      continue;
    }
    for (const GraphNode* call : graph.calls(*layer)) {
      const int count = static_cast<int>(call->inputs.size());
      if (point.site.kind == SiteKind::input &&
          (point.site.index < 0 || point.site.index >= count)) {
        throw ValueError("out_of_range", describe(point),
                         fmt::format("input index must be in [0,{}), got {}",
                                     count, point.site.index));
      }
      tensors[point.group].insert(&tensor_at(graph, *call, point.site));
      classes[point.group].insert(&equal.first(*call, point.site));
    }
  }
  for (const std::string& group : alone) {
    if (members[group] > 1) {
      throw ValueError("invalid_value", fmt::format("plan group '{}'", group),
                       fmt::format("a weight or intermediate tensor must be "
                                   "alone in its group, got {} points",
                                   members[group]));
    }
  }
  for (const auto& [group, nodes] : tensors) {
    // A layer called several times has a single quantizer for several tensors.
    if (members[group] == 1 || nodes.size() == 1) continue;
    if (classes[group].size() == 1) continue;
    throw ValueError(
        "invalid_value", fmt::format("plan group '{}'", group),
        fmt::format("points of a group must be on one tensor, or on tensors "
                    "that layers such as Concatenate and pooling connect, got "
                    "{} tensors",
                    nodes.size()));
  }
}

/// Renames layers to their names in a quantized model.
QdqPlan named_as(QdqPlan plan, const GraphIndex& graph) {
  for (QdqPoint& point : plan.points) {
    if (graph.find_layer(point.layer) != nullptr) continue;
    std::string wrapped = quantized_name(point.layer);
    if (graph.find_layer(wrapped) != nullptr) point.layer = std::move(wrapped);
  }
  return plan;
}

}  // namespace

PairCount count_pairs(const QdqPlan& original, const Model& model) {
  const GraphIndex graph(model);
  const QdqPlan given = named_as(original, graph);
  const QdqPlan plan = assign_shared_quantizers(given, graph);
  check(plan, graph);
  PairCount count;
  // (tensor, quantizer) pairs.
  std::set<std::pair<const GraphNode*, std::string>> pairs;
  for (const QdqPoint& point : plan.points) {
    if (point.site.kind == SiteKind::weight) {
      ++count.weights;
      continue;
    }
    for (const GraphNode* call : graph.calls(*graph.find_layer(point.layer))) {
      ++count.activations;
      const GraphNode& made = point.site.kind == SiteKind::intermediate
                                  ? *call
                                  : tensor_at(graph, *call, point.site);
      pairs.emplace(&made, point.group);
    }
  }
  count.shared = static_cast<int64_t>(pairs.size()) + count.weights;
  return count;
}

Model apply(const QdqPlan& given, const Model& model, Weights weights) {
  const GraphIndex graph(model);
  const QdqPlan plan = assign_shared_quantizers(given, graph);
  check(plan, graph);
  std::map<std::string, std::vector<const QdqPoint*>> by_layer;
  for (const QdqPoint& point : plan.points) {
    by_layer[point.layer].push_back(&point);
  }
  std::map<std::string, std::shared_ptr<Quantizer>> by_group;
  const auto quantizer_of = [&](const QdqPoint& point) {
    auto& quantizer = by_group[point.group];
    if (quantizer == nullptr) {
      quantizer = std::make_shared<Quantizer>(point.group, point.config);
    }
    return quantizer;
  };
  return model.clone(
      [&](const Layer& layer, CloneContext& context) -> std::shared_ptr<Layer> {
        std::shared_ptr<Layer> inner = layer.clone(context);
        const auto found = by_layer.find(layer.name());
        if (found == by_layer.end()) return inner;
        const auto wrapper = make_wrapper(std::move(inner));
        for (const QdqPoint* point : found->second) {
          wrapper->attach({.site = point->site,
                           .quantizer = quantizer_of(*point),
                           .rule = point->rule,
                           .reason = point->reason});
        }
        wrapper->set_name(quantized_name(layer.name()));
        return wrapper;
      },
      weights);
}

QdqPlan plan_of(const Model& model) {
  QdqPlan plan;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const auto first = static_cast<std::ptrdiff_t>(plan.points.size());
    for (const PlacedQuantizer& placed : wrapper->quantizers()) {
      plan.points.push_back({.layer = wrapper->inner().name(),
                             .site = placed.site,
                             .config = placed.quantizer->config(),
                             .group = placed.quantizer->name(),
                             .rule = placed.rule,
                             .reason = placed.reason});
    }
    std::stable_sort(plan.points.begin() + first, plan.points.end(),
                     [](const QdqPoint& a, const QdqPoint& b) {
                       return site_order(a.site) < site_order(b.site);
                     });
  }
  return plan;
}

}  // namespace octet::quant
