#include "qoperators.h"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "../graph_view.h"
#include "../proto_limits.h"
#include "../run/constants.h"
#include "../tensors.h"

namespace octet::io::importing {
namespace {

constexpr int64_t kSoftmaxAxis = 13;  // first opset with a single axis
constexpr int kPadValue = 2;          // an input of Pad

/// A quantized input, followed by its scale and zero point.
struct CodesAt {
  int values = 0;
  std::optional<int64_t> axis = {};  ///< of scales per channel
};

/// The float operator of a quantized operator.
struct FloatForm {
  std::string op;
  std::vector<CodesAt> operands;
  int result = 0;  ///< input with its scale, followed by the zero point
  int bias = -1;   ///< int32, with the product of both operands' scales
};

/// Inputs and attributes are those of ONNX Runtime, docs/ContribOperators.md.
std::optional<FloatForm> form_of(const onnx::NodeProto& node) {
  const auto integer = [&](const char* name) -> int64_t {
    const auto* attribute = find_attribute(node, name);
    return attribute == nullptr ? 0 : attribute->i();
  };
  const std::string& op = node.op_type();
  if (is_standard_domain(node.domain())) {
    if (op == "QLinearConv") return FloatForm{"Conv", {{0}, {3, 0}}, 6, 8};
    if (op == "QLinearMatMul") return FloatForm{"MatMul", {{0}, {3, -1}}, 6};
    return {};
  }
  if (node.domain() != "com.microsoft" || integer("channels_last") != 0) {
    return {};
  }
  if (op == "QGemm") {
    return FloatForm{"Gemm", {{0}, {3, integer("transB") != 0 ? 0 : 1}}, 7, 6};
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
  for (const char* known : {"AveragePool", "GlobalAveragePool", "LeakyRelu",
                            "Sigmoid", "Softmax"}) {
    if (name == known) return FloatForm{name, {{0}}, 3};
  }
  return {};
}

/// Whether the output has the quantization parameters of the first input.
bool moves_codes(const onnx::NodeProto& node) {
  constexpr const char* kMoves[] = {
      "Expand",  "Flatten", "Gather",    "Identity", "MaxPool",
      "Pad",     "Resize",  "Reshape",   "Slice",    "Split",
      "Squeeze", "Tile",    "Transpose", "Unsqueeze"};
  if (!is_standard_domain(node.domain()) ||
      std::ranges::find(kMoves, node.op_type()) == std::end(kMoves)) {
    return false;
  }
  const auto mode = [&](const char* usual) {
    const auto* attribute = find_attribute(node, "mode");
    return attribute == nullptr ? std::string(usual) : attribute->s();
  };
  if (node.op_type() == "MaxPool") return node.output_size() == 1;
  if (node.op_type() == "Resize") return mode("nearest") == "nearest";
  // By default, this Pad inserts quantized values of 0, the float operator the
  // number 0.
  if (node.op_type() == "Pad") {
    return mode("constant") != "constant" ||
           (node.input_size() > kPadValue && !node.input(kPadValue).empty());
  }
  return true;
}

void set_axis(onnx::NodeProto& node, int64_t axis) {
  auto* attribute = node.add_attribute();
  attribute->set_name("axis");
  attribute->set_type(onnx::AttributeProto::INT);
  attribute->set_i(axis);
}

/// A zero point.
struct Zero {
  int32_t type = 0;
  int32_t value = 0;
};

std::optional<Zero> zero_of(const onnx::TensorProto& tensor) {
  const auto type = run::dtype_of(tensor.data_type());
  if (type != DType::i8 && type != DType::u8) return {};
  for (const int64_t dim : tensor.dims()) {
    if (dim != 1) return {};
  }
  const Tensor value = run::constant(tensor);
  return Zero{tensor.data_type(), type == DType::i8 ? value.data<int8_t>()[0]
                                                    : value.data<uint8_t>()[0]};
}

/// Pairs of ONNX Runtime's domain are equivalent to the standard's.
bool is_own_pair(const onnx::NodeProto& node) {
  return node.domain() == "com.microsoft" &&
         (node.op_type() == "QuantizeLinear" ||
          node.op_type() == "DequantizeLinear");
}

class Expansion {
 public:
  Expansion(onnx::GraphProto& graph, int64_t opset)
      : graph_(graph), opset_(opset) {
    old_.Swap(graph.mutable_node());
    for (const auto& input : graph.input()) names_.insert(input.name());
    for (const auto& tensor : graph.initializer()) {
      names_.insert(tensor.name());
      note_constant(tensor.name(), tensor);
    }
    for (const auto& node : old_) {
      names_.insert(node.output().begin(), node.output().end());
      const auto* value = find_attribute(node, "value");
      if (node.op_type() == "Constant" && value != nullptr) {
        note_constant(node.output(0), value->t());
      }
    }
  }

  void run() {
    for (onnx::NodeProto& node : old_) {
      const auto form = form_of(node);
      if (form && fits(node, *form)) {
        expand(node, *form);
      } else if (moves_codes(node) && qparams_.contains(node.input(0))) {
        move(node);
      } else {
        keep(node);
      }
    }
  }

 private:
  /// Names of a quantized value's scale and zero point.
  struct ScaleNames {
    std::string scale, zero;
  };

  void note_constant(const std::string& name, const onnx::TensorProto& tensor) {
    if (tensor.data_type() == onnx::TensorProto::FLOAT) {
      numbers_[name] = float_values(tensor);
    } else if (const auto zero = zero_of(tensor)) {
      zeros_[name] = *zero;
    }
  }

  static std::string input(const onnx::NodeProto& node, int i) {
    return i >= 0 && i < node.input_size() ? node.input(i) : std::string();
  }

  /// Whether pairs can express the operator.
  bool fits(const onnx::NodeProto& node, const FloatForm& form) const {
    for (const CodesAt& at : form.operands) {
      if (input(node, at.values).empty() || input(node, at.values + 1).empty())
        return false;
    }
    const std::string scale = input(node, form.result);
    const bool codes = !scale.empty() && !input(node, form.result + 1).empty();
    if (form.operands.empty() || (!codes && node.op_type() != "QGemm") ||
        codes == scale.empty()) {
      return false;
    }
    if (const auto* opset = find_attribute(node, "opset")) {
      return (opset->i() < kSoftmaxAxis) == (opset_ < kSoftmaxAxis);
    }
    return input(node, form.bias).empty() ||
           (numbers_.contains(node.input(1)) &&
            numbers_.at(node.input(1)).size() == 1 &&
            numbers_.contains(node.input(4)));
  }

  void expand(const onnx::NodeProto& node, const FloatForm& form) {
    onnx::NodeProto by;
    by.set_op_type(form.op);
    by.set_name(node.name());
    for (const auto& attribute : node.attribute()) {
      if (attribute.name() == "opset" || attribute.name() == "channels_last") {
        continue;
      }
      *by.add_attribute() = attribute;
    }
    for (const CodesAt& at : form.operands) {
      by.add_input(dequantized(
          input(node, at.values),
          {input(node, at.values + 1), input(node, at.values + 2)}, at.axis));
    }
    const std::string bias = input(node, form.bias);
    if (!bias.empty()) {
      by.add_input(dequantized(bias, {bias_scale(node), ""}, 0));
    }
    add(by, {input(node, form.result), input(node, form.result + 1)}, node);
  }

  /// Returns the scale of the bias: a scalar, or a list for all channels.
  std::string bias_scale(const onnx::NodeProto& node) {
    const auto* alpha = find_attribute(node, "alpha");
    const float a =
        (alpha == nullptr ? 1.0f : alpha->f()) * numbers_.at(node.input(1))[0];
    const std::string name = unused(node.output(0) + "/bias_scale");
    auto* scale = graph_.add_initializer();
    scale->set_name(name);
    scale->set_data_type(onnx::TensorProto::FLOAT);
    const std::vector<float>& weights = numbers_.at(node.input(4));
    for (const float b : weights) scale->add_float_data(a * b);
    if (weights.size() > 1) {
      scale->add_dims(static_cast<int64_t>(weights.size()));
    }
    return name;
  }

  /// Returns a zero point for each scale, as DequantizeLinear requires.
  std::string zero_for(const ScaleNames& qparams) {
    const auto scales = numbers_.find(qparams.scale);
    const auto zero = zeros_.find(qparams.zero);
    if (scales == numbers_.end() || scales->second.size() < 2 ||
        zero == zeros_.end()) {
      return qparams.zero;
    }
    const std::string name = unused(qparams.zero + "/each");
    auto* each = graph_.add_initializer();
    each->set_name(name);
    each->set_data_type(zero->second.type);
    each->add_dims(static_cast<int64_t>(scales->second.size()));
    for (size_t i = 0; i < scales->second.size(); ++i) {
      each->add_int32_data(zero->second.value);
    }
    return name;
  }

  void move(const onnx::NodeProto& node) {
    const ScaleNames qparams = qparams_.at(node.input(0));
    onnx::NodeProto by = node;
    by.set_input(0, dequantized(node.input(0), qparams, {}));
    if (node.op_type() == "Pad" && !input(node, kPadValue).empty()) {
      by.set_input(kPadValue, dequantized(node.input(kPadValue), qparams, {}));
    }
    by.clear_output();
    add(by, qparams, node);
  }

  void keep(onnx::NodeProto& node) {
    if (is_own_pair(node)) node.clear_domain();
    // Moved values keep parameters with a single scale only: other scales have
    // an axis. The zero point determines the type, unless an attribute does.
    const auto scales = numbers_.find(input(node, 1));
    const bool one = scales != numbers_.end() && scales->second.size() == 1;
    if (one && node.op_type() == "QuantizeLinear" &&
        is_standard_domain(node.domain()) &&
        find_attribute(node, "output_dtype") == nullptr) {
      qparams_[node.output(0)] = {input(node, 1), input(node, 2)};
    }
    graph_.add_node()->Swap(&node);
  }

  /// Adds the node in place of `old`. Its outputs are quantized with `qparams`,
  /// or floats if the scale is empty.
  void add(onnx::NodeProto& node, const ScaleNames& qparams,
           const onnx::NodeProto& old) {
    if (qparams.scale.empty()) {
      *node.mutable_output() = old.output();
      graph_.add_node()->Swap(&node);
      return;
    }
    for (const std::string& codes : old.output()) {
      node.add_output(codes.empty() ? "" : unused(codes + "/float"));
    }
    onnx::NodeProto& added = *graph_.add_node();
    added.Swap(&node);
    for (int i = 0; i < old.output_size(); ++i) {
      if (!old.output(i).empty()) {
        quantize(std::string(added.output(i)), qparams, old.output(i));
      }
    }
  }

  void quantize(const std::string& floats, const ScaleNames& qparams,
                const std::string& codes) {
    auto& quantize = *graph_.add_node();
    quantize.set_op_type("QuantizeLinear");
    quantize.set_name(codes + "_QuantizeLinear");
    quantize.add_input(floats);
    quantize.add_input(qparams.scale);
    quantize.add_input(qparams.zero);
    quantize.add_output(codes);
    qparams_[codes] = qparams;
  }

  /// Returns the dequantized values; all consumers share a node.
  std::string dequantized(const std::string& codes, const ScaleNames& qparams,
                          std::optional<int64_t> axis) {
    std::string& made =
        floats_[codes + '\n' + qparams.scale + '\n' + qparams.zero];
    if (!made.empty()) return made;
    made = unused(codes + "/dequantized");
    const std::string zero = zero_for(qparams);
    auto& node = *graph_.add_node();
    node.set_op_type("DequantizeLinear");
    node.set_name(codes + "_DequantizeLinear");
    node.add_input(codes);
    node.add_input(qparams.scale);
    if (!qparams.zero.empty()) node.add_input(zero);
    if (axis) set_axis(node, *axis);
    node.add_output(made);
    return made;
  }

  std::string unused(std::string name) {
    while (!names_.insert(name).second) name += "_";
    return name;
  }

  onnx::GraphProto& graph_;
  int64_t opset_;
  google::protobuf::RepeatedPtrField<onnx::NodeProto> old_;
  std::unordered_set<std::string> names_;
  std::unordered_map<std::string, std::vector<float>> numbers_;
  std::unordered_map<std::string, Zero> zeros_;  // with a single element
  std::unordered_map<std::string, ScaleNames> qparams_;
  std::unordered_map<std::string, std::string> floats_;
};

}  // namespace

void expand_qoperators(onnx::GraphProto& graph, int64_t opset) {
  // Files with pairs may also move quantized values between Q and DQ.
  if (std::ranges::any_of(graph.node(), [](const onnx::NodeProto& node) {
        return node.op_type() == "QuantizeLinear" || is_own_pair(node) ||
               form_of(node).has_value();
      })) {
    Expansion(graph, opset).run();
  }
}

}  // namespace octet::io::importing
