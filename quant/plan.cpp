#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/near_names.h>

namespace octet::quant {
namespace {

std::string to_string(const QdqSite& site) {
  return site.kind == SiteKind::input ? fmt::format("input {}", site.index)
                                      : site.parameter;
}

std::string to_string(const QuantizerConfig& c) {
  return fmt::format("int{} [{},{}] {} {}", c.bits, c.low(), c.high(),
                     c.per_channel ? "per channel" : "per tensor",
                     c.rule == ScaleRule::live ? "live" : "fixed");
}

std::string describe(const QdqPoint& point) {
  return fmt::format("plan, {} {}", point.layer, to_string(point.site));
}

// The nodes that call each layer.
std::map<std::string, std::vector<const GraphNode*>> calls_of(
    const Model& model) {
  std::map<std::string, std::vector<const GraphNode*>> calls;
  for (const auto& node : model.nodes()) {
    calls[node->layer->name()].push_back(node.get());
  }
  return calls;
}

void check(const QdqPlan& plan, const Model& model) {
  const auto calls = calls_of(model);
  std::vector<std::string> names;
  for (const auto& [name, nodes] : calls) names.push_back(name);
  std::set<std::pair<std::string, std::string>> seen;
  std::map<std::string, const QdqPoint*> groups;
  std::map<std::string, std::set<const GraphNode*>> tensors;
  std::map<std::string, int> members;
  std::set<std::string> weights;
  for (const QdqPoint& point : plan.points) {
    const auto found = calls.find(point.layer);
    if (found == calls.end()) {
      throw NotFoundError(fmt::format(
          "plan: expected a layer '{}' in model "
          "'{}'{}",
          point.layer, model.name(), suggest_names(point.layer, names)));
    }
    if (!seen.emplace(point.layer, to_string(point.site)).second) {
      throw ValueError(
          fmt::format("{}: expected each point once", describe(point)));
    }
    const auto [first, added] = groups.emplace(point.group, &point);
    if (!added && !(first->second->config == point.config)) {
      throw ValueError(fmt::format(
          "{}: expected one configuration in group '{}', got {} and {}",
          describe(point), point.group, to_string(first->second->config),
          to_string(point.config)));
    }
    ++members[point.group];
    if (point.site.kind == SiteKind::weight) {
      (void)found->second[0]->layer->parameter(point.site.parameter);
      weights.insert(point.group);
      continue;
    }
    if (point.config.rule == ScaleRule::live || point.config.per_channel) {
      throw UnsupportedError(fmt::format(
          "{}: expected a fixed per-tensor scale for an activation, got {}; a "
          "file and its readers need one constant",
          describe(point), to_string(point.config)));
    }
    for (const GraphNode* call : found->second) {
      const int count = static_cast<int>(call->inputs.size());
      if (point.site.index < 0 || point.site.index >= count) {
        throw ValueError(fmt::format("{}: expected an input index in [0,{})",
                                     describe(point), count));
      }
      const size_t index = static_cast<size_t>(point.site.index);
      tensors[point.group].insert(call->inputs[index].node.get());
    }
  }
  for (const std::string& group : weights) {
    if (members[group] > 1) {
      throw ValueError(
          fmt::format("plan: expected a group of its own for a "
                      "weight, got '{}' {} times",
                      group, members[group]));
    }
  }
  for (const auto& [group, nodes] : tensors) {
    // A layer that is called several times reads several tensors with one
    // quantizer of its own.
    if (members[group] > 1 && nodes.size() > 1) {
      throw ValueError(fmt::format(
          "plan: expected the points of group '{}' to read one tensor, got {}",
          group, nodes.size()));
    }
  }
}

}  // namespace

QdqSite QdqSite::input(int index) {
  QdqSite site;
  site.index = index;
  return site;
}

QdqSite QdqSite::weight(std::string parameter) {
  QdqSite site;
  site.kind = SiteKind::weight;
  site.parameter = std::move(parameter);
  return site;
}

int64_t QdqPlan::pairs() const {
  std::set<std::string> groups;
  for (const QdqPoint& point : points) groups.insert(point.group);
  return static_cast<int64_t>(groups.size());
}

std::string QdqPlan::to_string() const {
  size_t layer = 0;
  size_t site = 0;
  size_t config = 0;
  for (const QdqPoint& point : points) {
    layer = std::max(layer, point.layer.size());
    site = std::max(site, quant::to_string(point.site).size());
    config = std::max(config, quant::to_string(point.config).size());
  }
  std::string text;
  for (const QdqPoint& point : points) {
    text += fmt::format("{:<{}}  {:<{}}  {:<{}}  {}\n", point.layer, layer,
                        quant::to_string(point.site), site,
                        quant::to_string(point.config), config, point.reason);
  }
  return text;
}

Model apply(const QdqPlan& plan, const Model& model) {
  check(plan, model);
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
        std::vector<QuantizeWrapper::Input> inputs;
        std::vector<QuantizeWrapper::Weight> weights;
        for (const QdqPoint* point : found->second) {
          if (point->site.kind == SiteKind::input) {
            inputs.push_back(
                {point->site.index, quantizer_of(*point), point->reason});
          } else {
            weights.push_back(
                {point->site.parameter, quantizer_of(*point), point->reason});
          }
        }
        auto wrapper = std::make_shared<QuantizeWrapper>(
            std::move(inner), std::move(inputs), std::move(weights));
        wrapper->set_name("quant_" + layer.name());
        return wrapper;
      });
}

QdqPlan plan_of(const Model& model) {
  QdqPlan plan;
  for (const auto& layer : model.layers()) {
    const QuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const std::string& name = wrapper->inner().name();
    for (const auto& [index, quantizer, reason] : wrapper->inputs()) {
      plan.points.push_back({name, QdqSite::input(index), quantizer->config(),
                             reason, quantizer->name()});
    }
    for (const auto& [parameter, quantizer, reason] : wrapper->weights()) {
      plan.points.push_back({name, QdqSite::weight(parameter),
                             quantizer->config(), reason, quantizer->name()});
    }
  }
  return plan;
}

}  // namespace octet::quant
