#include "autotune/schemes.h"

#include <algorithm>
#include <memory>
#include <set>
#include <utility>

#include <octet/quant/wrapper.h>

namespace octet::quant {

Model without_quantizers(const Model& int8) {
  return int8.clone([](const Layer& layer, CloneContext& context) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
    if (wrapper == nullptr) return layer.clone(context);
    std::shared_ptr<Layer> inner = wrapper->inner().clone(context);
    inner->set_name(wrapper->inner().name());
    return inner;
  });
}

std::vector<Scheme> schemes_of(const Model& model, const Region& region) {
  std::set<std::string> weighted, additions;
  for (const QdqPoint& point : region.plan.points) {
    if (point.site.kind == SiteKind::weight) weighted.insert(point.layer);
  }
  for (const size_t i : region.unit.nodes) {
    const Layer& layer = *model.nodes()[i]->layer;
    if (layer.class_name() == "Add") additions.insert(layer.name());
  }
  std::vector<Scheme> schemes = {{kFloat, {}}};
  const auto add = [&](const char* name, auto keeps) {
    Scheme scheme{name, {}};
    for (const QdqPoint& point : region.plan.points) {
      if (keeps(point)) scheme.plan.points.push_back(point);
    }
    if (std::ranges::none_of(schemes, [&](const Scheme& other) {
          return other.plan == scheme.plan;
        })) {
      schemes.push_back(std::move(scheme));
    }
  };
  add(kPlanned, [](const QdqPoint&) { return true; });
  add("without residual", [&](const QdqPoint& point) {
    return point.site.kind != SiteKind::input ||
           !additions.contains(point.layer);
  });
  add("weights only",
      [&](const QdqPoint& point) { return weighted.contains(point.layer); });
  return schemes;
}

CalibratedQuantizers::CalibratedQuantizers(const Model& int8) {
  for (const auto& quantizer : quantizers(int8)) {
    states_[quantizer->name()] = quantizer->state();
  }
}

Model CalibratedQuantizers::apply_to(const Model& model,
                                     const QdqPlan& plan) const {
  if (plan.points.empty()) return model.clone();
  Model result = apply(plan, model);
  for (const auto& quantizer : quantizers(result)) {
    quantizer->restore(states_.at(quantizer->name()));
  }
  return result;
}

}  // namespace octet::quant
