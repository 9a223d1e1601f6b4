// ONNX Runtime's operators on quantized values ("QOperator"), converted to Q/DQ
// pairs and float operators.
#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "fold.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "passes.h"
#include "spelling.h"

namespace octet::io::importing {
namespace {

constexpr int64_t kSoftmaxAxis = 13;  // first opset with a single axis
constexpr int kPadValue = 2;          // an input of Pad

/// A quantized input, followed by its scale and zero point.
struct QuantizedInput {
  int values = 0;
  std::optional<int64_t> axis = {};  ///< of scales per channel
};

/// The float operator of a quantized operator.
struct FloatForm {
  std::string op;
  std::vector<QuantizedInput> operands;
  int result = 0;  ///< input with its scale, followed by the zero point
  int bias = -1;   ///< int32, with the product of both operands' scales
};

/// Inputs and attributes as in ONNX Runtime, docs/ContribOperators.md.
std::optional<FloatForm> form_of(const onnx::NodeProto& node) {
  const std::string& op = node.op_type();
  if (is_standard_domain(node.domain())) {
    if (op == "QLinearConv") return FloatForm{"Conv", {{0}, {3, 0}}, 6, 8};
    if (op == "QLinearMatMul") return FloatForm{"MatMul", {{0}, {3, -1}}, 6};
    return {};
  }
  if (node.domain() != "com.microsoft" ||
      integer_of(node, "channels_last", 0) != 0) {
    return {};
  }
  if (op == "QGemm") {
    return FloatForm{
        "Gemm", {{0}, {3, integer_of(node, "transB", 0) != 0 ? 0 : 1}}, 7, 6};
  }
  if (!op.starts_with("QLinear")) return {};
  const std::string name = op.substr(7);
  if (name == "Add" || name == "Mul") return FloatForm{name, {{0}, {3}}, 6};
  if (name == "Concat") {
    FloatForm form{name, {}, 0};
    for (int i = 2; i + 2 < node.input_size(); i += 3) {
      form.operands.push_back({i});
    }
    return form;
  }
  if (!is_one_of(name,
                 "AveragePool GlobalAveragePool LeakyRelu Sigmoid Softmax")) {
    return {};
  }
  return FloatForm{name, {{0}}, 3};
}

/// Whether the output has the quantization parameters of the first input.
bool moves_quantized_values(const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain()) ||
      !is_one_of(node.op_type(),
                 "Expand Flatten Gather Identity MaxPool Pad Resize Reshape "
                 "Slice Split Squeeze Tile Transpose Unsqueeze")) {
    return false;
  }
  if (node.op_type() == "MaxPool") return node.output_size() == 1;
  if (node.op_type() == "Resize")
    return text_of(node, "mode", "nearest") == "nearest";
  // By default, this Pad inserts quantized values of 0, the float operator the
  // number 0.
  if (node.op_type() == "Pad") {
    return text_of(node, "mode", "constant") != "constant" ||
           (node.input_size() > kPadValue && !node.input(kPadValue).empty());
  }
  return true;
}

/// Pairs of ONNX Runtime's domain are equivalent to the standard's.
bool is_own_pair(const onnx::NodeProto& node) {
  return node.domain() == "com.microsoft" &&
         (node.op_type() == "QuantizeLinear" ||
          node.op_type() == "DequantizeLinear");
}

std::string input_of(const onnx::NodeProto& node, int i) {
  return i >= 0 && i < node.input_size() ? node.input(i) : std::string();
}

class QOperatorExpansion {
 public:
  explicit QOperatorExpansion(OnnxGraph& graph) : graph_(graph) {}

  void rewrite(OnnxNode& node) {
    const auto form = form_of(node.proto);
    if (form && node.proto.output_size() > 0 && fits(node.proto, *form)) {
      expand(node, *form);
    } else if (moves_quantized_values(node.proto) &&
               qparams_.contains(node.proto.input(0))) {
      move(node);
    } else {
      keep(node);
    }
  }

 private:
  /// Names of a quantized value's scale and zero point.
  struct ScaleNames {
    std::string scale, zero;
  };

  /// Returns the elements of a float32 constant; nothing for other inputs.
  std::optional<std::vector<float>> numbers(const std::string& value) const {
    const OnnxConstant* constant = graph_.constant(value);
    if (constant == nullptr || constant->value.dtype() != DType::f32) return {};
    const auto all = std::as_const(constant->value).f32();
    return std::vector<float>(all.begin(), all.end());
  }

  size_t count_of(const std::string& value) const {
    const auto all = numbers(value);
    return all ? all->size() : 0;
  }

  /// Whether pairs can express the operator.
  bool fits(const onnx::NodeProto& node, const FloatForm& form) const {
    for (const QuantizedInput& at : form.operands) {
      if (input_of(node, at.values).empty() ||
          input_of(node, at.values + 1).empty()) {
        return false;
      }
    }
    const std::string scale = input_of(node, form.result);
    const bool codes =
        !scale.empty() && !input_of(node, form.result + 1).empty();
    if (form.operands.empty() || (!codes && node.op_type() != "QGemm") ||
        codes == scale.empty()) {
      return false;
    }
    if (const auto* opset = find_attribute(node, "opset")) {
      return (opset->i() < kSoftmaxAxis) == (graph_.opset() < kSoftmaxAxis);
    }
    return input_of(node, form.bias).empty() ||
           (count_of(node.input(1)) == 1 && numbers(node.input(4)));
  }

  void expand(OnnxNode& node, const FloatForm& form) {
    const onnx::NodeProto old = node.proto;
    onnx::NodeProto by = old;
    by.clear_input();
    by.clear_output();
    by.clear_domain();
    by.set_op_type(form.op);
    remove_attribute(by, "opset");
    remove_attribute(by, "channels_last");
    for (const QuantizedInput& at : form.operands) {
      by.add_input(dequantized(
          node, input_of(old, at.values),
          {input_of(old, at.values + 1), input_of(old, at.values + 2)},
          at.axis));
    }
    const std::string bias = input_of(old, form.bias);
    if (!bias.empty()) {
      by.add_input(dequantized(node, bias, {bias_scale(old), ""}, 0));
    }
    replace(node, by,
            {input_of(old, form.result), input_of(old, form.result + 1)});
  }

  /// Returns the scale of the bias: a scalar, or a list for all channels.
  std::string bias_scale(const onnx::NodeProto& node) {
    const float a =
        number_of(node, "alpha", 1) * numbers(node.input(1)).value()[0];
    std::vector<float> scales = numbers(node.input(4)).value();
    for (float& scale : scales) scale *= a;
    const Shape shape = scales.size() > 1 ? Shape{std::ssize(scales)} : Shape{};
    return graph_.add_constant(node.output(0) + "/bias_scale",
                               Tensor::of<float>(shape, scales));
  }

  /// Returns a zero point for each scale, as DequantizeLinear requires.
  std::string zero_for(const ScaleNames& qparams) {
    const size_t count = count_of(qparams.scale);
    const OnnxConstant* zero = graph_.constant(qparams.zero);
    if (count < 2 || zero == nullptr || zero->value.bytes() != 1) {
      return qparams.zero;
    }
    Tensor each({static_cast<int64_t>(count)}, zero->value.dtype());
    std::memset(each.raw(),
                *static_cast<const unsigned char*>(zero->value.raw()), count);
    return graph_.add_constant(qparams.zero + "/each", each);
  }

  void move(OnnxNode& node) {
    const ScaleNames qparams = qparams_.at(node.proto.input(0));
    onnx::NodeProto by = node.proto;
    by.set_input(0, dequantized(node, by.input(0), qparams, {}));
    const std::string border = input_of(by, kPadValue);
    if (by.op_type() == "Pad" && !border.empty()) {
      by.set_input(kPadValue, dequantized(node, border, qparams, {}));
    }
    by.clear_output();
    replace(node, by, qparams);
  }

  void keep(OnnxNode& node) {
    if (is_own_pair(node.proto)) node.proto.clear_domain();
    // Moved values keep parameters with a single scale only: other scales have
    // an axis. The zero point determines the type, unless an attribute does.
    if (is_op(node, "QuantizeLinear") &&
        count_of(input_of(node.proto, 1)) == 1 &&
        find_attribute(node.proto, "output_dtype") == nullptr) {
      qparams_[node.proto.output(0)] = {input_of(node.proto, 1),
                                        input_of(node.proto, 2)};
    }
  }

  /// Replaces the node by `by`, whose outputs are quantized with `qparams`, or
  /// floats if the scale is empty.
  void replace(OnnxNode& node, onnx::NodeProto by, const ScaleNames& qparams) {
    if (qparams.scale.empty()) return graph_.replace(node, by, {});
    const auto outputs = node.proto.output();
    for (const std::string& codes : outputs) {
      by.add_output(codes.empty() ? "" : graph_.unique_name(codes + "/float"));
    }
    const onnx::NodeProto& floats =
        graph_.insert_before(node, by, std::exchange(node.origin, {})).proto;
    for (int i = 0; i < outputs.size(); ++i) {
      if (outputs[i].empty()) continue;
      onnx::NodeProto quantize =
          node_of("QuantizeLinear",
                  {floats.output(i), qparams.scale, qparams.zero}, outputs[i]);
      quantize.set_name(outputs[i] + "_QuantizeLinear");
      graph_.insert_before(node, quantize);
      qparams_[outputs[i]] = qparams;
    }
    graph_.remove(node, "");
  }

  /// Returns the dequantized values; all consumers share a node, which precedes
  /// `before`, the first of them.
  std::string dequantized(OnnxNode& before, const std::string& codes,
                          const ScaleNames& qparams,
                          std::optional<int64_t> axis) {
    std::string& made =
        floats_[codes + '\n' + qparams.scale + '\n' + qparams.zero];
    if (!made.empty()) return made;
    made = graph_.unique_name(codes + "/dequantized");
    onnx::NodeProto node =
        node_of("DequantizeLinear", {codes, qparams.scale}, made);
    node.set_name(codes + "_DequantizeLinear");
    if (!qparams.zero.empty()) node.add_input(zero_for(qparams));
    if (axis) set_integer(node, "axis", *axis);
    graph_.insert_before(before, node);
    return made;
  }

  OnnxGraph& graph_;
  std::unordered_map<std::string, ScaleNames> qparams_;
  std::unordered_map<std::string, std::string> floats_;
};

/// Returns the only element of an int8 or uint8 constant.
std::optional<int> quantized_number(const OnnxGraph& graph,
                                    const std::string& value) {
  const OnnxConstant* constant = graph.constant(value);
  if (constant == nullptr || constant->value.size() != 1) return {};
  const Tensor& number = constant->value;
  if (number.dtype() == DType::i8) return number.data<int8_t>()[0];
  if (number.dtype() == DType::u8) return number.data<uint8_t>()[0];
  return {};
}

/// Inserts a constant with the number that a quantized value represents.
std::string dequantized_bound(OnnxGraph& graph, const std::string& name,
                              float scale, int value) {
  return graph.add_constant(
      name, Tensor::full({}, scale * static_cast<float>(value)));
}

/// Quantizes a constant. The Clip behind it is folded later.
bool quantize_constant(OnnxGraph& graph, OnnxNode& quantize) {
  if (!has_constant_inputs(graph, quantize.proto)) return false;
  const std::string& codes = quantize.proto.output(0);
  const OnnxConstant* floats = graph.constant(quantize.proto.input(0));
  graph.set_constant(codes,
                     {computed(graph, quantize.proto), {}, floats->source});
  graph.remove(quantize, "quantizer of a weight");
  return true;
}

/// Replaces Q, Clip by Clip, Q. Both clip to the same quantized values, because
/// the quantized bounds are their own multiples of the scale.
void move_clip_before_quantizer(OnnxGraph& graph, OnnxNode& clip) {
  OnnxNode* quantize = graph.producer(clip.proto.input(0));
  if (quantize == nullptr || !is_op(*quantize, "QuantizeLinear") ||
      graph.uses(clip.proto.input(0)) != 1 || clip.proto.input_size() != 3 ||
      quantize_constant(graph, *quantize)) {
    return;
  }
  const onnx::NodeProto& old = quantize->proto;
  const OnnxConstant* scale = graph.constant(input_of(old, 1));
  const auto low = quantized_number(graph, clip.proto.input(1));
  const auto high = quantized_number(graph, clip.proto.input(2));
  const std::string zero_name = input_of(old, 2);
  const auto zero = zero_name.empty() ? std::optional<int>(0)
                                      : quantized_number(graph, zero_name);
  if (scale == nullptr || scale->value.size() != 1 ||
      scale->value.dtype() != DType::f32 || !low || !high || !zero) {
    return;
  }
  const float unit = std::as_const(scale->value).f32()[0];
  const std::string& y = clip.proto.output(0);
  onnx::NodeProto floats = node_of(
      "Clip",
      {old.input(0), dequantized_bound(graph, y + "/low", unit, *low - *zero),
       dequantized_bound(graph, y + "/high", unit, *high - *zero)},
      graph.unique_name(y + "/clipped"));
  floats.set_name(clip.proto.name());
  onnx::NodeProto codes = old;
  codes.set_input(0, floats.output(0));
  graph.insert_before(clip, floats, std::exchange(clip.origin, {}));
  graph.replace(clip, codes, {quantize});
}

/// Whether the node suggests that quantized values occur between operators:
/// files with pairs may also move them between Q and DQ.
bool has_quantized_values(const OnnxNode& node) {
  return !node.gone &&
         (node.proto.op_type() == "QuantizeLinear" || is_own_pair(node.proto) ||
          form_of(node.proto).has_value());
}

}  // namespace

void expand_qoperators(OnnxGraph& graph) {
  if (std::ranges::none_of(graph.nodes(), has_quantized_values)) return;
  QOperatorExpansion expansion(graph);
  for (OnnxNode& node : graph.nodes()) {
    if (!node.gone) expansion.rewrite(node);
  }
}

/// Source: the exports of Brevitas ("QCDQ"), which express fewer bits than 8.
void move_clips_before_quantizers(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (is_op(node, "Clip")) move_clip_before_quantizer(graph, node);
  }
}

}  // namespace octet::io::importing
