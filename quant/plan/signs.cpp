#include "plan/signs.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace octet::quant {
namespace {

using Tensors = std::unordered_set<const GraphNode*>;

// Returns the producers of non-negative tensors.
Tensors non_negative_tensors(const Model& model) {
  Tensors result;
  for (const auto& node : model.nodes()) {
    const bool inputs =
        !node->inputs.empty() &&
        std::ranges::all_of(node->inputs, [&](const SymbolicTensor& x) {
          return result.contains(x.node.get());
        });
    const OutputSign sign = node->facts().sign;
    if (sign == OutputSign::non_negative ||
        (inputs && sign == OutputSign::of_inputs)) {
      result.insert(node.get());
    }
  }
  return result;
}

// Returns whether the point's tensor is non-negative in all calls of its layer.
bool is_non_negative(const QdqPoint& point, const GraphIndex& graph,
                     const Tensors& tensors) {
  const Layer* layer = graph.find_layer(point.layer);
  if (layer == nullptr || point.site.kind == SiteKind::intermediate)
    return false;
  const auto index = static_cast<size_t>(point.site.index);
  return std::ranges::all_of(graph.calls(*layer), [&](const GraphNode* call) {
    if (point.site.kind == SiteKind::output) return tensors.contains(call);
    return index < call->inputs.size() &&
           tensors.contains(call->inputs[index].node.get());
  });
}

}  // namespace

void choose_signedness(QdqPlan& plan, const GraphIndex& graph) {
  // A zero point already determines the signedness.
  const auto has_choice = [](const QdqPoint& point) {
    return point.site.kind != SiteKind::weight &&
           point.config.zero_point == 0 && !point.config.asymmetric &&
           point.config.constant_scale == 0;
  };
  const auto may_lack_sign = [&](const QdqPoint& point) {
    return has_choice(point) &&
           (point.config.bits < 8 || !point.config.is_signed);
  };
  Tensors tensors;
  if (std::ranges::any_of(plan.points, may_lack_sign)) {
    tensors = non_negative_tensors(graph.model());
  }
  std::map<std::string, bool> groups;  // whether all points may be unsigned
  for (const QdqPoint& point : plan.points) {
    if (!has_choice(point)) continue;
    const bool here =
        may_lack_sign(point) && is_non_negative(point, graph, tensors);
    const auto [group, added] = groups.emplace(point.group, here);
    if (!added) group->second = group->second && here;
  }
  for (QdqPoint& point : plan.points) {
    if (!has_choice(point)) continue;
    point.config.is_signed = !groups.at(point.group);
  }
}

}  // namespace octet::quant
