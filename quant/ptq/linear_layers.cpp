#include "ptq/linear_layers.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::quant {

std::vector<LinearLayer> linear_layers(const Model& model) {
  std::map<uint64_t, int> owners;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) ++owners[p.variable.id()];
  }
  std::vector<LinearLayer> result;
  for (const auto& node : model.nodes()) {
    const Layer& layer = *node->layer;
    if (layer.facts().role != LayerRole::linear) continue;
    const bool known = std::ranges::any_of(
        result, [&](const LinearLayer& l) { return l.layer == &layer; });
    if (known) continue;
    LinearLayer linear{.layer = &layer, .part = nullptr, .weight = nullptr};
    linear.part =
        LinearPart::of(layer, node->inputs[0].shape(), linear.skipped);
    for (const Parameter& p : layer.parameters()) {
      if (owners[p.variable.id()] == 1) continue;
      linear.part = nullptr;
      linear.skipped =
          fmt::format("its {} is shared with other layers", p.name);
    }
    if (const BaseQuantizeWrapper* wrapper = as_wrapper(layer);
        wrapper != nullptr && linear.part != nullptr) {
      const PlacedQuantizer* placed =
          wrapper->find(QdqSite::weight(linear.part->kernel().name));
      if (placed != nullptr) linear.weight = placed->quantizer;
    }
    result.push_back(std::move(linear));
  }
  return result;
}

void expect_batch_size(const char* method, int64_t batch_size) {
  if (batch_size >= 1) return;
  throw ValueError("out_of_range", method,
                   fmt::format("batch_size must be >= 1, got {}", batch_size));
}

void for_each_input(const Model& model, const LinearLayer& layer,
                    const Dataset& samples, int64_t batch_size,
                    const std::function<void(const Tensor& rows)>& visit) {
  const NoGradGuard no_grad;
  const BaseQuantizeWrapper* wrapper = as_wrapper(*layer.layer);
  const PlacedQuantizer* quantizer =
      wrapper == nullptr ? nullptr : wrapper->find(QdqSite::input(0));
  // Input tensors of all calls of the layer.
  std::map<const GraphNode*, int> read;
  for (const auto& node : model.nodes()) {
    if (node->layer.get() == layer.layer) ++read[node->inputs[0].node.get()];
  }
  for (int64_t at = 0; at < samples.size(); at += batch_size) {
    const int64_t count = std::min(batch_size, samples.size() - at);
    const Batch batch = samples.batch(at, count);
    const std::vector<Variable> inputs(batch.inputs.begin(),
                                       batch.inputs.end());
    const auto show = [&](const GraphNode& node, const Variable& y) {
      const auto found = read.find(&node);
      if (found == read.end()) return;
      const Variable x = quantizer == nullptr ? y : (*quantizer->quantizer)(y);
      for (int i = 0; i < found->second; ++i) {
        layer.part->for_each_rows(x.value(), visit);
      }
    };
    (void)model.run(inputs, show);
  }
}

void expect_fixed_weights(const char* subject, const Model& model) {
  const auto weights = weight_quantizers(model);
  if (weights.empty()) {
    throw ValueError(
        "not_quantized", subject,
        fmt::format("model '{}' has no quantized weights. Hint: run "
                    "quantize_model first",
                    model.name()));
  }
  for (const PlacedQuantizer& placed : weights) {
    const QuantizerConfig& config = placed.quantizer->config();
    if (config.format != NumberFormat::integer) {
      throw UnsupportedError(
          "unsupported_value",
          fmt::format("quantizer '{}'", placed.quantizer->name()),
          fmt::format("{} rounds integers, got {}", subject,
                      to_string(config.format)));
    }
    if (config.rule != ScaleRule::live) continue;
    throw ValueError(
        "unsupported_value",
        fmt::format("quantizer '{}'", placed.quantizer->name()),
        fmt::format(
            "{} needs fixed or learned scales; live scales "
            "would follow the rounded weights. Hint: quantize_model with "
            "`.weight.rule = ScaleRule::fixed`, then calibrate",
            subject));
  }
}

void refuse_not_finite(const char* subject, const std::string& layer) {
  throw ValueError("not_finite", fmt::format("layer '{}'", layer),
                   fmt::format("{} found NaN or infinity. Hint: use trained "
                               "weights, and scale the samples as in "
                               "training",
                               subject));
}

}  // namespace octet::quant
