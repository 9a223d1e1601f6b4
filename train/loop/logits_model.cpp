#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/layers.h>
#include <octet/quant/plan.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>

#include "last_activation.h"

namespace octet::train {
namespace {

void expect_one_output(const Model& model) {
  if (model.outputs().size() == 1) return;
  throw ValueError(
      "count_mismatch", fmt::format("model '{}'", model.name()),
      fmt::format("expected a single output, got {}", model.outputs().size()));
}

/// Returns the last node that computes values; its successors only reshape.
const GraphNode& last_call(const SymbolicTensor& tensor) {
  const GraphNode* node = tensor.node.get();
  const auto sample_size = [](const GraphNode& of) {
    return of.shape.slice(1, of.shape.rank()).size();
  };
  while (node->inputs.size() == 1) {
    const GraphNode& source = *node->inputs[0].node;
    const LayerFacts facts =
        quant::float_layer(*node->layer).facts(std::span(&source.shape, 1));
    const bool moves = facts.role == LayerRole::movement &&
                       sample_size(source) == sample_size(*node);
    if (!moves && facts.identity == Identity::never) break;
    node = &source;
  }
  return *node;
}

bool has_option(const Config& config) {
  return config.is_object() && config.find("activation") != nullptr;
}

/// Returns the activation of a layer, "linear" for layers that compute logits,
/// otherwise "".
std::string activation_of(const Layer& layer) {
  const LayerFacts facts = layer.facts();
  const bool known = facts.activation != "linear" ||
                     facts.role == LayerRole::linear ||
                     has_option(layer.config());
  return known ? facts.activation : "";
}

}  // namespace

std::string output_activation(const Model& model) {
  expect_one_output(model);
  return output_activation(model, 0);
}

std::string output_activation(const Model& model, size_t output) {
  if (output >= model.outputs().size()) {
    throw ValueError("out_of_range", fmt::format("model '{}'", model.name()),
                     fmt::format("output index must be in [0, {}), got {}",
                                 model.outputs().size(), output));
  }
  const GraphNode& node = last_call(model.outputs()[output]);
  std::string activation = activation_of(quant::float_layer(*node.layer));
  const Shape& end = model.outputs()[output].shape();
  // A softmax per pixel, then flattened, is not a softmax of the last axis.
  const bool whole = node.shape[-1] == end[-1];
  return activation == "softmax" && !whole ? "" : activation;
}

void warn_of_second_activation(std::string_view subject, const Model& model,
                               size_t output) {
  const auto is_share = [](const std::string& activation) {
    return activation == "softmax" || activation == "sigmoid";
  };
  if (!is_share(output_activation(model, output))) return;
  const GraphNode& last = last_call(model.outputs()[output]);
  const Layer& layer = quant::float_layer(*last.layer);
  // Not the `activation` option of a layer with other computations.
  const bool alone = layer.facts().role == LayerRole::activation ||
                     layer.class_name() == "Softmax";
  if (!alone || last.inputs.size() != 1) return;
  const GraphNode& before = last_call(last.inputs[0]);
  const Layer& other = quant::float_layer(*before.layer);
  const std::string first = activation_of(other);
  if (!is_share(first)) return;
  warn("repeated_activation", subject,
       fmt::format("layer '{}' ({}) of model '{}' follows '{}', which already "
                   "ends in {}: all probabilities become nearly equal. Hint: "
                   "remove either activation",
                   layer.name(), activation_of(layer), model.name(),
                   other.name(), first));
}

Model logits_model(const Model& model) {
  const std::string activation = output_activation(model);
  if (activation != "softmax" && activation != "sigmoid" &&
      activation != "linear") {
    throw ValueError(
        "unsupported_model", "logits_model",
        fmt::format("the model must end in softmax, sigmoid or logits, got {}",
                    activation.empty() ? "another output" : activation));
  }
  const GraphNode& call = last_call(model.outputs()[0]);
  const Layer& last = quant::float_layer(*call.layer);
  const auto calls = std::ranges::count(
      model.nodes(), call.layer, [](const auto& node) { return node->layer; });
  if (calls > 1 && activation != "linear") {
    throw ValueError("unsupported_model", "logits_model",
                     fmt::format("layer '{}' must be called once, got {} calls",
                                 last.name(), calls));
  }
  quant::ModelState state = quant::state_of(model);
  Config::List layers = state.graph.at("layers").as_list();
  for (Config& layer : layers) {
    if (activation == "linear") break;
    if (layer.at("name").as_string() != last.name()) continue;
    Config config = layer.at("config");
    if (!has_option(config)) {  // the layer is the activation
      layer.set("class_name", "Activation");
      config = Config();
    }
    layer.set("config", config.set("activation", "linear"));
  }
  state.graph.set("layers", std::move(layers));
  if (activation != "linear" && !state.plan.is_null()) {
    // The range of probabilities does not suit logits.
    quant::QdqPlan plan = quant::plan_from_config(state.plan);
    std::erase_if(plan.points, [&](const quant::QdqPoint& point) {
      return point.layer == last.name() &&
             point.site.kind == quant::SiteKind::output;
    });
    state.plan = quant::to_config(plan);
  }
  return quant::model_from_state(std::move(state));
}

Model probability_model(const Model& model) {
  const std::string ends_in = output_activation(model);
  Model copy = model.clone();
  if (ends_in == "softmax" || ends_in == "sigmoid") return copy;
  if (ends_in != "linear") {
    throw ValueError(
        "unsupported_model", "probability_model",
        fmt::format("the model must end in softmax, sigmoid or logits, got {}",
                    ends_in.empty() ? "another output" : ends_in));
  }
  const SymbolicTensor& logits = copy.outputs()[0];
  const Shape& shape = logits.shape();
  const bool one = shape.slice(1, shape.rank()).size() == 1;
  std::string name = "probabilities";
  const auto taken = [&](const auto& layer) { return layer->name() == name; };
  while (std::ranges::any_of(std::as_const(copy).layers(), taken)) name += "_";
  return Model(copy.inputs()[0],
               Activation({.activation = one ? "sigmoid" : "softmax",
                           .name = name})(logits),
               {.name = model.name(), .seed = model.seed()});
}

}  // namespace octet::train
