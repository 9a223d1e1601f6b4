// Repairs that depend on the values of weights.
#include <algorithm>
#include <cfloat>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fix.h"

namespace octet::io::lint {
namespace {

using Type = onnx::TensorProto;

/// Returns the constant before a DQ, or before its Q.
std::optional<QuantizedConstant> weight_of(const LintGraph& graph,
                                           const Node& dequantize) {
  const Node* producer = graph.producer(dequantize.input(0));
  if (producer == nullptr) return graph.quantized_constant(dequantize);
  if (!is_quantize(*producer)) return std::nullopt;
  return graph.quantized_constant(*producer);
}

/// Returns the float32 output of a DQ of constants; nothing if it is computed
/// or the scales do not fit.
std::optional<std::vector<double>> dequantized(const LintGraph& graph,
                                               const Node& dequantize) {
  auto weight = weight_of(graph, dequantize);
  if (!weight) return std::nullopt;
  const bool stored = weight->node == &dequantize;
  auto zero = graph.zero_points(*weight->node);
  const size_t count = weight->scales.size();
  if (zero && zero->size() == 1) zero->resize(count, zero->front());
  if (!zero || zero->size() != count ||
      (!stored && !graph.same_qparams(*weight->node, dequantize))) {
    return std::nullopt;
  }
  const bool uint8 = graph.element_type(dequantize.input(0)) == Type::UINT8;
  const double least = uint8 ? 0 : -128, most = uint8 ? 255 : 127;
  for (size_t i = 0; i < weight->values.size(); ++i) {
    const size_t c = weight->scale_of(i);
    const auto scale = static_cast<float>(weight->scales[c]);
    double& value = weight->values[i];
    if (!stored) {
      const float ratio = static_cast<float>(value) / scale;
      // The rounding mode of the process is half to even.
      value =
          std::clamp<double>(std::nearbyint(ratio) + (*zero)[c], least, most);
    }
    value = static_cast<float>(value - (*zero)[c]) * scale;
  }
  return weight->values;
}

}  // namespace

void raise_scales(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  const auto sound = [](double scale) {
    return std::isfinite(scale) && scale >= FLT_MIN;
  };
  for (const Node& dequantize : repairer.nodes()) {
    if (!is_dequantize(dequantize)) continue;
    auto weight = weight_of(graph, dequantize);
    // With another zero point, quantized values of 0 are not zero weights.
    if (!weight || std::ranges::all_of(weight->scales, sound) ||
        !graph.is_symmetric(*weight->node)) {
      continue;
    }
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
    const std::string& scales = weight->node->input(1);
    const std::string name = repairer.add(
        scales + "_positive", Type::FLOAT,
        graph.dims(scales).value_or(std::vector<int64_t>()), weight->scales);
    repairer.set_input(dequantize, 1, name);
    repairer.set_input(*weight->node, 1, name);
    repairer.tell("E06", dequantize,
                  fmt::format("set positive scales for {} channels of zeros, "
                              "the first is {}",
                              raised.size(), raised[0]));
  }
}

void narrow_values(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    const Node* dequantize = graph.weight_dequantizer(layer);
    if (dequantize == nullptr ||
        graph.element_type(dequantize->input(0)) != Type::INT8 ||
        !graph.is_symmetric(*dequantize)) {
      continue;
    }
    auto weight = weight_of(graph, *dequantize);
    if (!weight) continue;
    const bool stored = weight->node == dequantize;
    int64_t count = 0;
    for (size_t i = 0; i < weight->values.size(); ++i) {
      const double step = stored ? 1 : weight->scales[weight->scale_of(i)];
      // Rounds half to even; a scale of 0 results in NaN.
      if (!(weight->values[i] / step <= -127.5)) continue;
      weight->values[i] = -127 * step;
      ++count;
    }
    if (count == 0 ||
        // Repaired for another layer.
        repairer.changed(*weight->node).input(0) != weight->tensor()) {
      continue;
    }
    repairer.set_input(*weight->node, 0,
                       repairer.add(weight->tensor() + "_narrow",
                                    stored ? Type::INT8 : Type::FLOAT,
                                    weight->dims, weight->values));
    repairer.tell("E20", layer,
                  fmt::format("changed {} values of its weight from -128 to "
                              "-127: results change slightly",
                              count));
  }
}

void store_floats(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    const auto index = graph.weight_index(layer);
    if (!is_weighted(layer) || !index) continue;
    const Node* dequantize = graph.producer(layer.input(*index));
    if (dequantize == nullptr || !is_dequantize(*dequantize)) continue;
    const std::string& stored = dequantize->input(0);
    OnnxNode& changed = repairer.changed(*dequantize);
    if (changed.input(0) != stored) continue;  // repaired for another layer
    const auto values = dequantized(graph, *dequantize);
    const auto dims = graph.dims(stored);
    if (!values || !dims || graph.quantizer(*dequantize) != nullptr ||
        graph.element_type(stored) != Type::INT8) {
      continue;
    }
    if (changed.input(2).empty()) {
      repairer.set_input(*dequantize, 2, repairer.add_zeros(*dequantize));
    }
    onnx::NodeProto quantize = changed;
    quantize.set_op_type("QuantizeLinear");
    quantize.set_name(
        repairer.after().unique_name(name_of(*dequantize) + "_quantize"));
    quantize.set_input(
        0, repairer.add(stored + "_float", Type::FLOAT, *dims, *values));
    quantize.set_output(0, repairer.after().unique_name(stored + "_codes"));
    repairer.set_input(*dequantize, 0, quantize.output(0));
    repairer.after().insert_before(changed, std::move(quantize));
    repairer.tell("E19", *dequantize,
                  "stored float32 before Q and DQ, same quantized values");
  }
}

void store_float_biases(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    const Node* dequantize = graph.producer(layer.input(2));
    if (!is_weighted(layer) || dequantize == nullptr ||
        !is_dequantize(*dequantize)) {
      continue;
    }
    const auto values = dequantized(graph, *dequantize);
    const auto dims = graph.dims(layer.input(2));
    if (!values || !dims) continue;
    repairer.set_input(
        layer, 2,
        repairer.add(layer.input(2) + "_float", Type::FLOAT, *dims, *values));
    repairer.tell("E17", layer, "stored the bias as float32, same values");
  }
}

}  // namespace octet::io::lint
