// Repairs of Q and DQ nodes that do not depend on the values.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "../concat_pairs.h"
#include "../qdq.h"
#include "../tensors.h"
#include "fix.h"

namespace octet::io::lint {
namespace {

void set_input(Node& node, int index, const std::string& value) {
  while (node.input_size() <= index) node.add_input("");
  node.set_input(index, value);
}

// Whether a Pad adds quantized values, which a repair would not change.
bool pads_codes(const LintGraph& graph, const std::string& codes) {
  return any_consumer(graph, codes, [](const Node& consumer) {
    return is_op(consumer, {"Pad"});
  });
}

// Returns the lowest and the highest value of a Q with a single scale.
std::optional<std::pair<double, double>> range_of(const LintGraph& graph,
                                                  const Node& quantize) {
  const int32_t type = graph.view().element_type(quantize.output(0));
  const bool is_signed = type == onnx::TensorProto::INT8;
  if (!is_signed && type != onnx::TensorProto::UINT8) return {};
  const auto scales = graph.scales(quantize);
  const auto zero = graph.zero_points(quantize);
  if (!scales || scales->size() != 1 || !zero || zero->size() != 1) return {};
  const double lowest = is_signed ? -128 : 0;
  return std::pair((lowest - zero->front()) * scales->front(),
                   (lowest + 255 - zero->front()) * scales->front());
}

}  // namespace

// E02, E04: uint8 with zero point 128 is equivalent to int8 with 0.
void make_signed(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  const auto around_128 = [&](const Node& node) {
    if (node.input_size() < 3 || node.input(2).empty()) return false;
    const auto zero = graph.numbers(node.input(2));
    return graph.view().element_type(node.input(2)) ==
               onnx::TensorProto::UINT8 &&
           zero && !zero->empty() &&
           std::ranges::all_of(*zero, [](double z) { return z == 128; });
  };
  for (const Node& node : repairer.nodes()) {
    if (is_quantize(node)) {
      const auto& consumers = repairer.dequantizers_of(node);
      if (!graph.scales(node) || !around_128(node) ||
          !repairer.ends_in_dequantizers(node.output(0)) ||
          pads_codes(graph, node.output(0)) ||
          !std::ranges::all_of(consumers, [&](const Node* consumer) {
            return around_128(*consumer);
          })) {
        continue;
      }
      const std::string zeros = repairer.add_zeros(node);
      set_input(repairer.changed(node), 2, zeros);
      for (const Node* consumer : consumers) {
        set_input(repairer.changed(*consumer), 2, zeros);
      }
      repairer.tell("E02", node,
                    "replaced uint8 with zero point 128 by int8 with 0");
    } else if (is_dequantize(node) && graph.scales(node) && around_128(node)) {
      auto codes = graph.numbers(node.input(0));
      const auto dims = graph.view().dims(node.input(0));
      if (!codes || !dims) continue;
      for (double& code : *codes) code -= 128;
      Node& changed = repairer.changed(node);
      set_input(changed, 0,
                repairer.add_codes(node.input(0) + "_int8", *dims, *codes));
      set_input(changed, 2, repairer.add_zeros(node));
      repairer.tell("E02", node, "converted uint8 values to int8 by -128");
    }
  }
}

// E22: int8 with zero point 0 is equivalent to uint8 with 128.
void make_unsigned_at_concat(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  std::set<const Node*> repaired;
  for (const ConcatPair& pair : int8_pairs_at_concat(graph.view())) {
    const Node& quantize = *pair.quantize;
    const auto consumers = repairer.dequantizers_of(quantize);
    const auto zero = graph.zero_points(quantize);
    const auto same = [&](const Node* consumer) {
      return consumer->input_size() > 2 && graph.zero_points(*consumer) == zero;
    };
    if (!zero || quantize.input_size() < 3 ||
        find_attribute(quantize, "output_dtype") != nullptr ||
        !repairer.ends_in_dequantizers(quantize.output(0)) ||
        pads_codes(graph, quantize.output(0)) ||
        !std::ranges::all_of(consumers, same) ||
        !repaired.insert(&quantize).second) {
      continue;
    }
    std::vector<double> moved = *zero;
    for (double& z : moved) z += 128;
    const std::string zeros = repairer.add_uint8(
        quantize.input(2) + "_uint8",
        graph.view().dims(quantize.input(2)).value_or(std::vector<int64_t>()),
        moved);
    set_input(repairer.changed(quantize), 2, zeros);
    for (const Node* consumer : consumers) {
      set_input(repairer.changed(*consumer), 2, zeros);
    }
    repairer.tell("E22", quantize,
                  "replaced int8 with zero point 0 by uint8 with 128: same "
                  "results");
  }
}

// E03
void add_zero_points(Repairer& repairer) {
  const auto lacks = [](const Node& node) {
    return (node.input_size() < 3 || node.input(2).empty()) &&
           find_attribute(node, "output_dtype") == nullptr;
  };
  for (const Node& node : repairer.nodes()) {
    if (!is_quantize(node) || !lacks(node) || !repairer.graph().scales(node) ||
        !repairer.ends_in_dequantizers(node.output(0))) {
      continue;
    }
    const auto& consumers = repairer.dequantizers_of(node);
    if (!std::ranges::all_of(consumers,
                             [&](const Node* r) { return lacks(*r); })) {
      continue;
    }
    const std::string zeros = repairer.add_zeros(node);
    set_input(repairer.changed(node), 2, zeros);
    for (const Node* consumer : consumers) {
      set_input(repairer.changed(*consumer), 2, zeros);
    }
    repairer.tell("E03", node,
                  "added an int8 zero point, as TensorRT assumes: ONNX range "
                  "changes from 0 to 255 to -128 to 127");
  }
}

// E05
void match_zero_points(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if ((!is_quantize(node) && !is_dequantize(node)) || node.input_size() < 3 ||
        node.input(2).empty()) {
      continue;
    }
    const auto zero = graph.numbers(node.input(2));
    const auto scales = graph.scales(node);
    if (!zero || !scales || zero->size() == scales->size() ||
        graph.view().element_type(node.input(2)) != onnx::TensorProto::INT8 ||
        std::ranges::any_of(*zero, [](double z) { return z != 0; })) {
      continue;
    }
    set_input(repairer.changed(node), 2, repairer.add_zeros(node));
    repairer.tell("E05", node,
                  fmt::format("wrote {} zero points instead of {}",
                              scales->size(), zero->size()));
  }
}

// P31
void make_scales_scalar(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  std::map<std::string, std::string> scalars;
  const auto scalar_of = [&](const std::string& value) {
    const auto [found, is_new] = scalars.try_emplace(value);
    const auto* tensor = graph.view().constant(value);
    if (is_new && tensor != nullptr && tensor->dims_size() == 1 &&
        tensor->dims(0) == 1) {
      found->second = repairer.add_scalar(*tensor);
    }
    return found->second;
  };
  for (const Node& node : repairer.nodes()) {
    if ((!is_quantize(node) && !is_dequantize(node)) ||
        graph.is_constant(node.input(0))) {
      continue;
    }
    const std::string scale = scalar_of(node.input(1));
    if (scale.empty()) continue;
    Node& changed = repairer.changed(node);
    changed.set_input(1, scale);
    if (node.input_size() > 2) {
      const std::string zero = scalar_of(node.input(2));
      if (!zero.empty()) changed.set_input(2, zero);
    }
    if (is_quantize(node)) {
      repairer.tell("P31", node, "made its scale a scalar: same results");
    }
  }
}

// E09: ONNX's default axis if it fits, otherwise axis 0.
void write_axes(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if ((!is_quantize(node) && !is_dequantize(node)) ||
        find_attribute(node, "axis") != nullptr || graph.is_per_tensor(node)) {
      continue;
    }
    const auto scale_dims = graph.view().dims(node.input(1));
    const auto dims = graph.view().dims(node.input(0));
    if (!scale_dims || scale_dims->size() != 1 || !dims) continue;
    const int64_t count = scale_dims->front();
    int64_t axis = -1;
    if (dims->size() > 1 && (*dims)[1] == count) {
      axis = 1;
    } else if (!dims->empty() && dims->front() == count) {
      axis = 0;
    } else {
      continue;
    }
    auto* attribute = repairer.changed(node).add_attribute();
    attribute->set_name("axis");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(axis);
    repairer.tell("E09", node,
                  axis == 1 ? "added axis 1, ONNX's default"
                            : "added axis 0, the only one that fits");
  }
}

// E19
void store_floats(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    if (!is_weighted(layer)) continue;
    const auto index = graph.weight_index(layer);
    if (!index) continue;
    const Node* dequantize = graph.view().producer(layer.input(*index));
    if (dequantize == nullptr || !is_dequantize(*dequantize)) continue;
    if (repairer.changed(*dequantize).input(0) != dequantize->input(0)) {
      continue;  // already repaired for another layer with this weight
    }
    const auto values = dequantized(graph, *dequantize);
    const auto dims = graph.view().dims(dequantize->input(0));
    if (!values || !dims || graph.quantizer(*dequantize) != nullptr ||
        graph.view().element_type(dequantize->input(0)) !=
            onnx::TensorProto::INT8) {
      continue;
    }
    Node& changed = repairer.changed(*dequantize);
    if (changed.input_size() < 3 || changed.input(2).empty()) {
      set_input(changed, 2, repairer.add_zeros(*dequantize));
    }
    Node quantize = changed;
    quantize.set_op_type("QuantizeLinear");
    quantize.set_name(repairer.new_name(name_of(*dequantize) + "_quantize"));
    quantize.set_input(0, repairer.add_floats(dequantize->input(0) + "_float",
                                              *dims, *values));
    const std::string codes =
        repairer.new_name(dequantize->input(0) + "_codes");
    quantize.set_output(0, codes);
    changed.set_input(0, codes);
    repairer.add_node(std::move(quantize));
    repairer.tell("E19", *dequantize,
                  "stored float32 before Q and DQ, same quantized values");
  }
}

// E17
void store_float_biases(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& layer : repairer.nodes()) {
    if (!is_weighted(layer) || layer.input_size() < 3) continue;
    const Node* dequantize = graph.view().producer(layer.input(2));
    if (dequantize == nullptr || !is_dequantize(*dequantize)) continue;
    const auto values = dequantized(graph, *dequantize);
    const auto dims = graph.view().dims(layer.input(2));
    if (!values || !dims) continue;
    repairer.changed(layer).set_input(
        2, repairer.add_floats(layer.input(2) + "_float", *dims, *values));
    repairer.tell("E17", layer, "stored the bias as float32, same values");
  }
}

// P19
void join_equal_pairs(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& quantize : repairer.nodes()) {
    if (!is_quantize(quantize) || graph.is_output(quantize.output(0))) continue;
    const Node* dequantize = graph.view().producer(quantize.input(0));
    if (dequantize == nullptr || !is_dequantize(*dequantize) ||
        !graph.same_qparams(*dequantize, quantize) ||
        graph.view().element_type(dequantize->input(0)) !=
            graph.view().element_type(quantize.output(0))) {
      continue;
    }
    // If the DQ was joined itself, the pairs are all equal.
    const std::string codes = repairer.changed(*dequantize).input(0);
    for (const Node* consumer : graph.view().consumers(quantize.output(0))) {
      auto& inputs = *repairer.changed(*consumer).mutable_input();
      std::ranges::replace(inputs, quantize.output(0), codes);
    }
    repairer.tell("P19", quantize, "removed the DQ and Q of the same scale");
  }
}

// P16. Keeps clipping: uint8 from 0 includes a ReLU.
void free_outputs(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if (!is_dequantize(node) || !graph.is_output(node.output(0)) ||
        !graph.view().consumers(node.output(0)).empty()) {
      continue;
    }
    const Node* quantize = graph.view().producer(node.input(0));
    if (quantize == nullptr || !is_quantize(*quantize) ||
        graph.is_constant(quantize->input(0))) {
      continue;
    }
    const auto range = range_of(repairer.graph(), *quantize);
    if (!range) continue;
    Node& changed = repairer.changed(node);
    const std::string source = repairer.changed(*quantize).input(0);
    changed.set_op_type("Clip");
    changed.clear_domain();
    changed.clear_attribute();
    changed.clear_input();
    changed.add_input(source);
    changed.add_input(
        repairer.add_floats(node.output(0) + "_min", {}, {range->first}));
    changed.add_input(
        repairer.add_floats(node.output(0) + "_max", {}, {range->second}));
    repairer.tell("P16", node,
                  fmt::format("output is no longer rounded to the scale of "
                              "the pair, but still clipped to [{:g}, {:g}]",
                              range->first, range->second));
  }
}

}  // namespace octet::io::lint
