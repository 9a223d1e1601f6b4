#include "placement/split_activations.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/activation.h>
#include <octet/layers/custom_layer.h>

namespace octet::quant {
namespace {

constexpr std::array<std::string_view, 8> kSplitClasses = {
    "Conv1D",          "Conv2D",          "DepthwiseConv1D", "DepthwiseConv2D",
    "SeparableConv1D", "SeparableConv2D", "Conv2DTranspose", "Dense"};

// Returns whether the function only clips values, which integer operators do
// without a tensor in between.
bool only_clips(const std::string& function) {
  return function == "linear" || function == "relu" || function == "relu6";
}

}  // namespace

std::optional<SymbolicTensor> split_activation(const GraphNode& node,
                                               Rebuild& rebuild) {
  const Layer& layer = *node.layer;
  const std::string function = layer.facts().activation;
  const bool splits = std::ranges::find(kSplitClasses, layer.class_name()) !=
                      kSplitClasses.end();
  if (!splits || only_clips(function) || !rebuild.stands_alone(layer)) {
    return std::nullopt;
  }
  Config config = layer.config();
  config.set("activation", "linear");
  const std::shared_ptr<Layer> linear =
      create_layer(layer.class_name(), config);
  linear->set_name(layer.name());
  const SymbolicTensor y = call(linear, {rebuild.at(node.inputs[0])});
  std::vector<Tensor> values;
  for (const Parameter& p : layer.parameters()) {
    values.push_back(p.variable.value());
  }
  linear->set_parameters(values);
  linear->set_trainable(layer.trainable());
  return Activation(
      {.activation = function, .name = layer.name() + "_activation"})(y);
}

}  // namespace octet::quant
