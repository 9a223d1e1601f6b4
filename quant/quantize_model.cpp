#include <map>
#include <set>
#include <string>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/quant/quantize_model.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// A name for the tensor a node makes: its layer's, with a number where the
// layer is called several times.
std::map<const GraphNode*, std::string> tensor_names(const Model& model) {
  std::map<const GraphNode*, std::string> names;
  std::map<const Layer*, int> calls;
  for (const auto& node : model.nodes()) {
    const int call = calls[node->layer.get()]++;
    const std::string& name = node->layer->name();
    names[node.get()] = call == 0 ? name : fmt::format("{}:{}", name, call);
  }
  return names;
}

}  // namespace

QdqPlan plan_full(const Model& model, const QuantizeOptions& options) {
  const auto tensors = tensor_names(model);
  std::map<const Layer*, int> calls;
  for (const auto& node : model.nodes()) ++calls[node->layer.get()];
  std::set<const Layer*> done;
  QdqPlan plan;
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    const LayerDef* def = find_layer_def(layer.class_name());
    if (def == nullptr || !def->qdq.enabled) continue;
    if (!done.insert(&layer).second) continue;
    const std::string reason = fmt::format("default of {}", def->class_name);
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      // Calls of a shared layer read different tensors through one wrapper.
      const std::string group =
          calls[&layer] > 1 ? fmt::format("{}/input_{}", layer.name(), i)
                            : tensors.at(node->inputs[i].node.get());
      plan.points.push_back({layer.name(), QdqSite::input(static_cast<int>(i)),
                             options.activation, reason, group});
    }
    for (const auto parameter : {def->qdq.weight, def->qdq.second_weight}) {
      if (parameter.empty()) continue;
      const std::string weight(parameter);
      plan.points.push_back({layer.name(), QdqSite::weight(weight),
                             options.weight, reason,
                             layer.name() + "/" + weight});
    }
  }
  return plan;
}

Model quantize_model(const Model& model, const QuantizeOptions& options) {
  if (!quantizers(model).empty()) {
    throw ValueError(fmt::format(
        "quantize_model: expected a float model, got '{}', which is quantized "
        "already",
        model.name()));
  }
  const QdqPlan plan = plan_full(model, options);
  if (plan.points.empty()) {
    throw ValueError(fmt::format(
        "quantize_model: expected layers that can be quantized in '{}', got "
        "none",
        model.name()));
  }
  return apply(plan, model);
}

}  // namespace octet::quant
