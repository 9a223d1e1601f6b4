#include "sensitivity/weight_gradients.h"

#include <algorithm>
#include <optional>
#include <vector>

#include <octet/quant/wrapper.h>
#include <octet/runtime/ops.h>

namespace octet::quant {
namespace {

struct WeightError {
  std::string layer;
  Variable variable;
  Tensor error;                 // rounding error
  std::vector<double> squares;  // squared gradients, summed over samples
};

// Returns the trainable quantized weights with their rounding errors.
std::vector<WeightError> weight_errors(const Model& model) {
  std::vector<WeightError> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const PlacedQuantizer& placed : wrapper->weights()) {
      const Parameter& parameter =
          wrapper->inner().parameter(placed.site.parameter);
      if (!parameter.variable.requires_grad()) continue;
      const Tensor& value = parameter.variable.value();
      const QuantParams qparams =
          placed.quantizer->qparams(value, parameter.channel_axis);
      const NoGradGuard no_grad;
      Tensor error = fake_quantize(Variable(value), qparams).value().clone();
      for (size_t i = 0; i < error.f32().size(); ++i) {
        error.f32()[i] -= value.f32()[i];
      }
      result.push_back({wrapper->inner().name(), parameter.variable, error,
                        std::vector<double>(error.f32().size())});
    }
  }
  return result;
}

// Returns whether the outputs are logits (true) or probabilities (false);
// nothing for other outputs.
std::optional<bool> gives_logits(const Model& model) {
  const Layer& last = float_layer(*model.outputs()[0].node->layer);
  const std::string activation = last.facts().activation;
  if (activation == "softmax") return false;
  const bool logits =
      activation == "linear" && last.facts().role == LayerRole::linear;
  return logits ? std::optional(true) : std::nullopt;
}

}  // namespace

std::map<std::string, double> weight_loss_rises(
    const Model& model, const Dataset& samples,
    std::span<const int64_t> classes) {
  std::vector<WeightError> weights = weight_errors(model);
  const std::optional<bool> logits = gives_logits(model);
  if (weights.empty() || !logits) return {};
  for (int64_t n = 0; n < samples.size(); ++n) {
    const Batch batch = samples.batch(n, 1);
    const Variable y = model(
        std::vector<Variable>(batch.inputs.begin(), batch.inputs.end()))[0];
    softmax_cross_entropy(
        y, Tensor::of({1}, classes.subspan(static_cast<size_t>(n), 1)),
        {.from_logits = logits})
        .backward();
    for (const Variable& each : model.trainable_variables()) {
      const auto weight = std::ranges::find_if(
          weights,
          [&](const WeightError& w) { return w.variable.id() == each.id(); });
      if (weight != weights.end() && !each.grad().empty()) {
        const Tensor gradient = each.grad();
        for (size_t i = 0; i < weight->squares.size(); ++i) {
          weight->squares[i] += double{gradient.f32()[i]} * gradient.f32()[i];
        }
      }
      Variable(each).zero_grad();
    }
  }
  std::map<std::string, double> result;
  for (const WeightError& weight : weights) {
    double sum = 0;
    for (size_t i = 0; i < weight.squares.size(); ++i) {
      sum += weight.squares[i] * weight.error.f32()[i] * weight.error.f32()[i];
    }
    result[weight.layer] += sum / (2.0 * static_cast<double>(samples.size()));
  }
  return result;
}

}  // namespace octet::quant
