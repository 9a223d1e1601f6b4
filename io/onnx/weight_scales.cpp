#include "weight_scales.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "attributes.h"
#include "lint/graph.h"
#include "qdq.h"

namespace octet::io {
namespace {

constexpr float kMostSteps = 1 << 30;

class Scales {
 public:
  explicit Scales(onnx::GraphProto& graph) : graph_(graph) {
    for (int i = 0; i < graph.initializer_size(); ++i) {
      initializers_[graph.initializer(i).name()] = i;
    }
    for (const auto& node : graph.node()) {
      for (const auto& output : node.output()) producers_[output] = &node;
    }
  }

  void fit() {
    for (const auto& node : graph_.node()) {
      if (lint::is_op(node, {"Conv", "ConvTranspose", "Gemm"})) fit(node);
    }
  }

 private:
  void fit(const onnx::NodeProto& layer) {
    if (layer.input_size() < 3 || !initializers_.contains(layer.input(2))) {
      return;
    }
    const onnx::NodeProto* input = dequantizer(layer.input(0));
    const onnx::NodeProto* weight = dequantizer(layer.input(1));
    if (input == nullptr || weight == nullptr) return;
    const onnx::NodeProto* quantize = producer(weight->input(0));
    if (quantize == nullptr || !is_quantize(*quantize) ||
        !initializers_.contains(quantize->input(0))) {
      return;
    }
    const std::vector<float> x_scale = numbers(input->input(1));
    const std::vector<float> bias = numbers(layer.input(2));
    std::vector<float> scales = numbers(weight->input(1));
    if (x_scale.size() != 1 || scales.size() != bias.size() ||
        scales.size() < 2) {
      return;
    }
    const std::vector<float> largest =
        largest_of_channels(*quantize, scales.size());
    // For a layer that is called repeatedly, the larger scale fits all calls.
    const bool first = fitted_.insert(weight->input(1)).second;
    bool changed = false;
    for (size_t k = 0; k < scales.size(); ++k) {
      const float fitting = std::abs(bias[k]) / kMostSteps / x_scale[0];
      if (!std::isnormal(fitting)) continue;
      if (scales[k] >= fitting && !(first && largest[k] == 0)) continue;
      scales[k] = fitting;
      changed = true;
    }
    if (changed) store(weight->input(1), scales);
  }

  const onnx::NodeProto* producer(const std::string& value) const {
    const auto found = producers_.find(value);
    return found == producers_.end() ? nullptr : found->second;
  }

  /// Returns the DQ of these values, ignoring reordering.
  const onnx::NodeProto* dequantizer(const std::string& value) const {
    const onnx::NodeProto* node = producer(value);
    while (node != nullptr &&
           lint::is_op(*node, {"Flatten", "Reshape", "Transpose", "MaxPool"})) {
      node = producer(node->input(0));
    }
    return node != nullptr && is_dequantize(*node) ? node : nullptr;
  }

  std::vector<float> numbers(const std::string& name) const {
    const auto found = initializers_.find(name);
    if (found == initializers_.end()) return {};
    const std::string& raw = graph_.initializer(found->second).raw_data();
    std::vector<float> values(raw.size() / sizeof(float));
    std::memcpy(values.data(), raw.data(), raw.size());
    return values;
  }

  void store(const std::string& name, const std::vector<float>& values) {
    graph_.mutable_initializer(initializers_.at(name))
        ->set_raw_data(values.data(), values.size() * sizeof(float));
  }

  /// Returns the largest magnitude in each channel of the quantized constant.
  std::vector<float> largest_of_channels(const onnx::NodeProto& quantize,
                                         size_t channels) const {
    const auto& weight =
        graph_.initializer(initializers_.at(quantize.input(0)));
    const auto* axis = find_attribute(quantize, "axis");
    size_t inner = 1;
    for (int i = weight.dims_size() - 1;
         i > (axis == nullptr ? 0 : static_cast<int>(axis->i())); --i) {
      inner *= static_cast<size_t>(weight.dims(i));
    }
    std::vector<float> largest(channels);
    const std::vector<float> values = numbers(quantize.input(0));
    for (size_t i = 0; i < values.size(); ++i) {
      float& most = largest[i / inner % channels];
      most = std::max(most, std::abs(values[i]));
    }
    return largest;
  }

  onnx::GraphProto& graph_;
  std::unordered_map<std::string, int> initializers_;
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_set<std::string> fitted_;
};

}  // namespace

void fit_scales_to_biases(onnx::GraphProto& graph) { Scales(graph).fit(); }

}  // namespace octet::io
