// fit_scales_to_biases()
#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_set>
#include <vector>

#include "graph_passes.h"
#include "onnx/graph/qdq.h"

namespace octet::io {
namespace {

constexpr float kMostSteps = 1 << 30;

/// Returns the DQ of these values, ignoring reordering; or null.
const OnnxNode* dequantizer_of(const OnnxGraph& graph,
                               const std::string& value) {
  const OnnxNode* node = graph.producer(value);
  while (node != nullptr &&
         is_op(*node, {"Flatten", "Reshape", "Transpose", "MaxPool"})) {
    node = graph.producer(node->input(0));
  }
  return node != nullptr && is_dequantize(*node) ? node : nullptr;
}

/// Returns the numbers of an initializer with raw data; empty for others.
std::vector<float> raw_floats(OnnxGraph& graph, const std::string& name) {
  const auto* tensor = graph.initializer(name);
  if (tensor == nullptr) return {};
  const std::string& raw = tensor->raw_data();
  std::vector<float> values(raw.size() / sizeof(float));
  std::memcpy(values.data(), raw.data(), raw.size());
  return values;
}

/// Returns the largest magnitude in each channel of the quantized constant.
std::vector<float> largest_of_channels(OnnxGraph& graph,
                                       const OnnxNode& quantize,
                                       size_t channels) {
  const auto& weight = *graph.initializer(quantize.input(0));
  size_t inner = 1;
  for (int i = weight.dims_size() - 1; i > integer_of(quantize, "axis", 0);
       --i) {
    inner *= static_cast<size_t>(weight.dims(i));
  }
  std::vector<float> largest(channels);
  const std::vector<float> values = raw_floats(graph, quantize.input(0));
  for (size_t i = 0; i < values.size(); ++i) {
    float& most = largest[i / inner % channels];
    most = std::max(most, std::abs(values[i]));
  }
  return largest;
}

/// For a layer that is called repeatedly, the larger scale fits all calls:
/// `fitted` lists the scales of earlier calls.
void fit_scales(OnnxGraph& graph, const OnnxNode& layer,
                std::unordered_set<std::string>& fitted) {
  const OnnxNode* input = dequantizer_of(graph, layer.input(0));
  const OnnxNode* weight = dequantizer_of(graph, layer.input(1));
  if (input == nullptr || weight == nullptr) return;
  const OnnxNode* quantize = graph.producer(weight->input(0));
  if (quantize == nullptr || !is_quantize(*quantize) ||
      graph.initializer(quantize->input(0)) == nullptr) {
    return;
  }
  const std::vector<float> x_scale = raw_floats(graph, input->input(1));
  const std::vector<float> bias = raw_floats(graph, layer.input(2));
  std::vector<float> scales = raw_floats(graph, weight->input(1));
  if (x_scale.size() != 1 || scales.size() != bias.size() ||
      scales.size() < 2) {
    return;
  }
  const std::vector<float> largest =
      largest_of_channels(graph, *quantize, scales.size());
  const bool first = fitted.insert(weight->input(1)).second;
  bool changed = false;
  for (size_t k = 0; k < scales.size(); ++k) {
    const float fitting = std::abs(bias[k]) / kMostSteps / x_scale[0];
    if (!std::isnormal(fitting)) continue;
    if (scales[k] >= fitting && !(first && largest[k] == 0)) continue;
    scales[k] = fitting;
    changed = true;
  }
  if (!changed) return;
  graph.initializer(weight->input(1))
      ->set_raw_data(scales.data(), scales.size() * sizeof(float));
}

}  // namespace

void fit_scales_to_biases(OnnxGraph& graph) {
  std::unordered_set<std::string> fitted;
  for (const OnnxNode& node : graph.nodes()) {
    if (is_op(node, {"Conv", "ConvTranspose", "Gemm"}) &&
        graph.initializer(node.input(2)) != nullptr) {
      fit_scales(graph, node, fitted);
    }
  }
}

}  // namespace octet::io
