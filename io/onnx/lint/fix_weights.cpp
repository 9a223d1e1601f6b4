// Repairs that depend on the values of weights.
#include <algorithm>
#include <cfloat>
#include <cmath>

#include <fmt/format.h>

#include "../qdq.h"
#include "../tensors.h"
#include "fix.h"

namespace octet::io::lint {
namespace {

/// Quantized constants with constant scales: of Q, or of DQ for stored int8.
struct QuantizedConstant {
  const Node* dequantize;
  const Node* quantize;  ///< null: stored as int8
  std::vector<int64_t> dims;
  std::vector<double> values;  ///< floats of Q, or quantized values
  std::vector<double> scales;
  size_t inner = 1;  ///< adjacent elements that share a scale

  const std::string& tensor() const {
    return (quantize == nullptr ? dequantize : quantize)->input(0);
  }
  size_t scale_of(size_t i) const {
    return scales.size() == 1 ? 0 : i / inner % scales.size();
  }
};

std::optional<QuantizedConstant> weight_of(const LintGraph& graph,
                                           const Node& dequantize) {
  const Node* producer = graph.view().producer(dequantize.input(0));
  const Node* quantize =
      producer != nullptr && is_quantize(*producer) ? producer : nullptr;
  if (producer != nullptr && quantize == nullptr) return std::nullopt;
  const Node& node = quantize == nullptr ? dequantize : *quantize;
  const auto values = graph.numbers(node.input(0));
  const auto scales = graph.scales(node);
  const auto dims = graph.view().dims(node.input(0));
  const auto* block = find_attribute(node, "block_size");
  if (!values || !scales || scales->empty() || !dims ||
      (block != nullptr && block->i() != 0)) {
    return std::nullopt;
  }
  QuantizedConstant weight{&dequantize, quantize, *dims, *values, *scales};
  if (scales->size() == 1) return weight;
  const auto* attribute = find_attribute(node, "axis");
  const auto rank = static_cast<int64_t>(dims->size());
  int64_t axis = attribute == nullptr ? 1 : attribute->i();
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank ||
      (*dims)[static_cast<size_t>(axis)] !=
          static_cast<int64_t>(scales->size())) {
    return std::nullopt;
  }
  for (int64_t d = axis + 1; d < rank; ++d) {
    weight.inner *= static_cast<size_t>((*dims)[static_cast<size_t>(d)]);
  }
  return weight;
}

std::optional<std::vector<double>> zero_points_of(const LintGraph& graph,
                                                  const Node& node,
                                                  size_t count) {
  if (node.input_size() < 3 || node.input(2).empty()) {
    return std::vector<double>(count, 0);
  }
  auto zero = graph.numbers(node.input(2));
  if (zero && zero->size() == 1) zero->resize(count, zero->front());
  if (!zero || zero->size() != count) return std::nullopt;
  return zero;
}

bool is_zero_point_0(const LintGraph& graph, const Node& node) {
  if (node.input_size() < 3 || node.input(2).empty()) return true;
  const auto zero = graph.numbers(node.input(2));
  return zero && std::ranges::all_of(*zero, [](double z) { return z == 0; });
}

}  // namespace

std::optional<std::vector<double>> dequantized(const LintGraph& graph,
                                               const Node& dequantize) {
  auto weight = weight_of(graph, dequantize);
  if (!weight) return std::nullopt;
  const Node& qparams =
      weight->quantize == nullptr ? dequantize : *weight->quantize;
  const auto zero = zero_points_of(graph, qparams, weight->scales.size());
  if (!zero || (weight->quantize != nullptr &&
                !graph.same_qparams(*weight->quantize, dequantize))) {
    return std::nullopt;
  }
  const bool uint8 = graph.view().element_type(dequantize.input(0)) ==
                     onnx::TensorProto::UINT8;
  const double least = uint8 ? 0 : -128, most = uint8 ? 255 : 127;
  for (size_t i = 0; i < weight->values.size(); ++i) {
    const size_t c = weight->scale_of(i);
    const auto scale = static_cast<float>(weight->scales[c]);
    double& value = weight->values[i];
    if (weight->quantize != nullptr) {
      const float ratio = static_cast<float>(value) / scale;
      // The rounding mode of the process is half to even.
      value =
          std::clamp<double>(std::nearbyint(ratio) + (*zero)[c], least, most);
    }
    value = static_cast<float>(value - (*zero)[c]) * scale;
  }
  return weight->values;
}

void raise_scales(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  const auto sound = [](double scale) {
    return std::isfinite(scale) && scale >= FLT_MIN;
  };
  for (const Node& dequantize : repairer.nodes()) {
    if (!is_dequantize(dequantize)) continue;
    auto weight = weight_of(graph, dequantize);
    if (!weight || std::ranges::all_of(weight->scales, sound)) continue;
    const Node& qparams =
        weight->quantize == nullptr ? dequantize : *weight->quantize;
    // With another zero point, quantized values of 0 are not zero weights.
    if (!is_zero_point_0(graph, qparams)) continue;
    std::vector<bool> zero(weight->scales.size(), true);
    for (size_t i = 0; i < weight->values.size(); ++i) {
      if (weight->values[i] != 0) zero[weight->scale_of(i)] = false;
    }
    double smallest = 0;
    for (const double scale : weight->scales) {
      if (sound(scale) && (smallest == 0 || scale < smallest)) smallest = scale;
    }
    std::vector<size_t> raised;
    for (size_t c = 0; c < weight->scales.size(); ++c) {
      if (sound(weight->scales[c]) || !zero[c]) continue;
      weight->scales[c] = smallest == 0 ? 1 : smallest;
      raised.push_back(c);
    }
    if (raised.empty()) continue;
    const std::string name = repairer.add_floats(
        qparams.input(1) + "_positive",
        graph.view().dims(qparams.input(1)).value_or(std::vector<int64_t>()),
        weight->scales);
    repairer.changed(dequantize).set_input(1, name);
    if (weight->quantize != nullptr) {
      repairer.changed(*weight->quantize).set_input(1, name);
    }
    repairer.tell("E06", dequantize,
                  fmt::format("set positive scales for {} channels of zeros, "
                              "the first is {}",
                              raised.size(), raised[0]));
  }
}

void narrow_codes(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    if (!is_weighted(layer)) continue;
    const auto index = graph.weight_index(layer);
    if (!index || !graph.is_constant(layer.input(*index))) continue;
    const Node* dequantize = graph.dequantizer(layer.input(*index));
    if (dequantize == nullptr) continue;
    auto weight = weight_of(graph, *dequantize);
    if (!weight ||
        graph.view().element_type(dequantize->input(0)) !=
            onnx::TensorProto::INT8 ||
        !is_zero_point_0(graph, *dequantize)) {
      continue;
    }
    const bool codes = weight->quantize == nullptr;
    int64_t count = 0;
    for (size_t i = 0; i < weight->values.size(); ++i) {
      const double step = codes ? 1 : weight->scales[weight->scale_of(i)];
      // Rounds half to even; a scale of 0 results in NaN.
      if (!(weight->values[i] / step <= -127.5)) continue;
      weight->values[i] = -127 * step;
      ++count;
    }
    if (count == 0) continue;
    Node& consumer = repairer.changed(codes ? *dequantize : *weight->quantize);
    if (consumer.input(0) != weight->tensor()) continue;  // already repaired
    consumer.set_input(
        0, codes ? repairer.add_codes(weight->tensor() + "_narrow",
                                      weight->dims, weight->values)
                 : repairer.add_floats(weight->tensor() + "_narrow",
                                       weight->dims, weight->values));
    repairer.tell("E20", layer,
                  fmt::format("changed {} values of its weight from -128 to "
                              "-127: results change slightly",
                              count));
  }
}

}  // namespace octet::io::lint
