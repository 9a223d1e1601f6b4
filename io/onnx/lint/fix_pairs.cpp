// Repairs of Q and DQ nodes that do not depend on the values.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "fix.h"
#include "onnx/export/graph_passes.h"

namespace octet::io::lint {
namespace {

using Type = onnx::TensorProto;

bool is_pair_node(const Node& node) {
  return is_quantize(node) || is_dequantize(node);
}

// Whether a Pad adds quantized values, which a repair would not change.
bool pads_quantized(const LintGraph& graph, const std::string& value) {
  return any_consumer(graph, value, [](const Node& consumer) {
    return is_op(consumer, "Pad");
  });
}

// Returns the lowest and the highest value of a Q with a single scale.
std::optional<std::pair<double, double>> range_of(const LintGraph& graph,
                                                  const Node& quantize) {
  const int32_t type = graph.element_type(quantize.output(0));
  if (type != Type::INT8 && type != Type::UINT8) return {};
  const auto scales = graph.scales(quantize);
  const auto zero = graph.zero_points(quantize);
  if (!scales || scales->size() != 1 || !zero || zero->size() != 1) return {};
  const double lowest = type == Type::INT8 ? -128 : 0;
  return std::pair((lowest - zero->front()) * scales->front(),
                   (lowest + 255 - zero->front()) * scales->front());
}

}  // namespace

void make_signed(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  const auto around_128 = [&](const Node& node) {
    const auto zero = graph.numbers(node.input(2));
    return graph.element_type(node.input(2)) == Type::UINT8 && zero &&
           !zero->empty() &&
           std::ranges::all_of(*zero, [](double z) { return z == 128; });
  };
  for (const Node& node : repairer.nodes()) {
    if (!is_pair_node(node) || !graph.scales(node) || !around_128(node)) {
      continue;
    }
    if (is_quantize(node)) {
      if (!repairer.all_dequantizers(node, around_128) ||
          pads_quantized(graph, node.output(0))) {
        continue;
      }
      repairer.set_zero_points(node, repairer.add_zeros(node));
      repairer.tell("E02", node,
                    "replaced uint8 with zero point 128 by int8 with 0");
      continue;
    }
    auto values = graph.numbers(node.input(0));
    const auto dims = graph.dims(node.input(0));
    if (!values || !dims) continue;
    for (double& value : *values) value -= 128;
    repairer.set_input(
        node, 0,
        repairer.add(node.input(0) + "_int8", Type::INT8, *dims, *values));
    repairer.set_input(node, 2, repairer.add_zeros(node));
    repairer.tell("E02", node, "converted uint8 values to int8 by -128");
  }
}

// int8 with zero point 0 is equivalent to uint8 with 128.
void make_unsigned_at_concat(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  std::set<const Node*> repaired;
  for (const ConcatPair& pair : int8_pairs_at_concat(graph)) {
    const Node& quantize = *pair.quantize;
    const std::string& old = quantize.input(2);
    auto zero = graph.zero_points(quantize);
    const auto same = [&](const Node& consumer) {
      return !consumer.input(2).empty() && graph.zero_points(consumer) == zero;
    };
    if (!zero || old.empty() ||
        find_attribute(quantize, "output_dtype") != nullptr ||
        !repairer.all_dequantizers(quantize, same) ||
        pads_quantized(graph, quantize.output(0)) ||
        !repaired.insert(&quantize).second) {
      continue;
    }
    for (double& z : *zero) z += 128;
    repairer.set_zero_points(
        quantize,
        repairer.add(old + "_uint8", Type::UINT8,
                     graph.dims(old).value_or(std::vector<int64_t>()), *zero));
    repairer.tell("E22", quantize,
                  "replaced int8 with zero point 0 by uint8 with 128: same "
                  "results");
  }
}

void add_zero_points(Repairer& repairer) {
  const auto lacks = [](const Node& node) {
    return node.input(2).empty() &&
           find_attribute(node, "output_dtype") == nullptr;
  };
  for (const Node& node : repairer.nodes()) {
    if (!is_quantize(node) || !lacks(node) || !repairer.graph().scales(node) ||
        !repairer.all_dequantizers(node, lacks)) {
      continue;
    }
    repairer.set_zero_points(node, repairer.add_zeros(node));
    repairer.tell("E03", node,
                  "added an int8 zero point, as TensorRT assumes: ONNX range "
                  "changes from 0 to 255 to -128 to 127");
  }
}

void match_zero_points(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if (!is_pair_node(node) || node.input(2).empty()) continue;
    const auto zero = graph.numbers(node.input(2));
    const auto scales = graph.scales(node);
    if (!zero || !scales || zero->size() == scales->size() ||
        graph.element_type(node.input(2)) != Type::INT8 ||
        !graph.is_symmetric(node)) {
      continue;
    }
    repairer.set_input(node, 2, repairer.add_zeros(node));
    repairer.tell("E05", node,
                  fmt::format("wrote {} zero points instead of {}",
                              scales->size(), zero->size()));
  }
}

void make_scales_scalar(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  std::map<std::string, std::string> scalars;
  const auto scalar_of = [&](const std::string& value) {
    const auto [found, is_new] = scalars.try_emplace(value);
    const auto* tensor = graph.tensor(value);
    if (is_new && tensor != nullptr && tensor->dims_size() == 1 &&
        tensor->dims(0) == 1) {
      Type scalar = *tensor;
      scalar.clear_dims();
      found->second = repairer.after().add_tensor(tensor->name() + "_scalar",
                                                  std::move(scalar));
    }
    return found->second;
  };
  for (const Node& node : repairer.nodes()) {
    if (!is_pair_node(node) || graph.is_constant(node.input(0))) continue;
    const std::string scale = scalar_of(node.input(1));
    if (scale.empty()) continue;
    repairer.set_input(node, 1, scale);
    const std::string zero = scalar_of(node.input(2));
    if (!zero.empty()) repairer.set_input(node, 2, zero);
    if (is_quantize(node)) {
      repairer.tell("P31", node, "made its scale a scalar: same results");
    }
  }
}

// ONNX's default axis if it fits, otherwise axis 0.
void write_axes(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if (!is_pair_node(node) || find_attribute(node, "axis") != nullptr ||
        graph.is_per_tensor(node)) {
      continue;
    }
    const auto scale_dims = graph.dims(node.input(1));
    const auto dims = graph.dims(node.input(0));
    if (!scale_dims || scale_dims->size() != 1 || !dims) continue;
    const int64_t count = scale_dims->front();
    const bool second = dims->size() > 1 && (*dims)[1] == count;
    if (!second && (dims->empty() || dims->front() != count)) continue;
    set_integer(repairer.changed(node).proto, "axis", second ? 1 : 0);
    repairer.tell("E09", node,
                  second ? "added axis 1, ONNX's default"
                         : "added axis 0, the only one that fits");
  }
}

void join_equal_pairs(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& quantize : repairer.nodes()) {
    if (!is_quantize(quantize) || graph.is_output(quantize.output(0))) continue;
    const Node* dequantize = graph.producer(quantize.input(0));
    if (dequantize == nullptr || !is_dequantize(*dequantize) ||
        !graph.same_qparams(*dequantize, quantize) ||
        graph.element_type(dequantize->input(0)) !=
            graph.element_type(quantize.output(0))) {
      continue;
    }
    // If the DQ was joined itself, the pairs are all equal.
    repairer.after().redirect(quantize.output(0),
                              repairer.changed(*dequantize).input(0));
    repairer.tell("P19", quantize, "removed the DQ and Q of the same scale");
  }
}

// Keeps clipping: uint8 from 0 includes a ReLU.
void free_outputs(Repairer& repairer) {
  const LintGraph& graph = repairer.graph();
  for (const Node& node : repairer.nodes()) {
    if (!is_dequantize(node) || !graph.is_output(node.output(0)) ||
        !graph.consumers(node.output(0)).empty()) {
      continue;
    }
    const Node* quantize = graph.producer(node.input(0));
    if (quantize == nullptr || !is_quantize(*quantize) ||
        graph.is_constant(quantize->input(0))) {
      continue;
    }
    const auto range = range_of(graph, *quantize);
    if (!range) continue;
    onnx::NodeProto clip;
    clip.set_op_type("Clip");
    clip.set_name(node.proto.name());
    clip.add_input(repairer.changed(*quantize).input(0));
    const auto add_bound = [&](const char* suffix, double bound) {
      clip.add_input(
          repairer.add(node.output(0) + suffix, Type::FLOAT, {}, {bound}));
    };
    add_bound("_min", range->first);
    add_bound("_max", range->second);
    clip.add_output(node.output(0));
    repairer.after().change(repairer.changed(node),
                            [&](auto& proto) { proto.Swap(&clip); });
    repairer.tell("P16", node,
                  fmt::format("output is no longer rounded to the scale of "
                              "the pair, but still clipped to [{:g}, {:g}]",
                              range->first, range->second));
  }
}

}  // namespace octet::io::lint
