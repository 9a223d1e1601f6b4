// Equivalent spellings of operators become the form of a recent opset.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/runtime/error.h>

#include "../attributes.h"
#include "../proto_limits.h"
#include "graph.h"
#include "passes.h"
#include "spelling.h"

namespace octet::io::importing {
namespace {

// Import uses running statistics. Training outputs without consumers are
// ignored.
void spell_batch_normalization(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  const bool other_outputs = proto.output_size() > 1;
  for (int i = 1; i < proto.output_size(); ++i) {
    if (!proto.output(i).empty() && graph.uses(proto.output(i)) > 0) return;
  }
  while (proto.output_size() > 1) proto.mutable_output()->RemoveLast();
  const char* name = graph.opset() < 7 ? "is_test" : "training_mode";
  const int64_t inference = graph.opset() < 7 ? 1 : 0;
  const bool states_mode = graph.opset() < 7 || graph.opset() >= 14;
  const bool trains =
      states_mode ? integer_of(proto, name, 0) != inference : other_outputs;
  if (!trains) return;
  if (states_mode) set_integer(proto, name, inference);
  warn("running_statistics", describe(proto),
       "training mode is ignored; the layer uses the running mean and variance "
       "of the file");
}

// Layers are in inference mode outside training.
void spell_dropout(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  bool trains = graph.opset() < 7 && integer_of(proto, "is_test", 0) == 0;
  if (trains) set_integer(proto, "is_test", 1);
  if (proto.input_size() > 2) {
    const OnnxConstant* mode = graph.constant(proto.input(2));
    trains = mode != nullptr && mode->value.dtype() == DType::boolean &&
             mode->value.size() == 1 &&
             std::as_const(mode->value).data<bool>()[0];
    if (trains) {
      onnx::NodeProto dropout = proto;
      dropout.mutable_input()->RemoveLast();
      graph.replace(node, dropout, {});
    }
  }
  if (!trains) return;
  warn("dropout_in_training", describe(node.proto),
       "training mode is ignored; the layer drops values in training only");
}

/// Appends `count` axes of size 1 to an input of a node.
void append_axes(OnnxGraph& graph, OnnxNode& node, int input, int64_t rank,
                 int64_t count) {
  const std::string x = node.proto.input(input);
  const std::string name = graph.unique_name(x + "/broadcast");
  Integers axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(rank + i);
  onnx::NodeProto unsqueeze = node_of("Unsqueeze", {x}, name);
  set_integers(unsqueeze, "axes", axes);
  graph.insert_before(node, unsqueeze);
  onnx::NodeProto by = node.proto;
  by.set_input(input, name);
  graph.replace(node, by, {});
}

// Before opset 7, `axis` aligns the second operand to an axis of the first.
void spell_broadcast(OnnxGraph& graph, OnnxNode& node) {
  if (graph.opset() >= 7 || node.proto.input_size() != 2) return;
  const auto first = rank_of(graph, node.proto.input(0));
  const auto second = rank_of(graph, node.proto.input(1));
  const auto* attribute = find_attribute(node.proto, "axis");
  if (attribute == nullptr || !first || !second) return;
  const int64_t axis = attribute->i() + (attribute->i() < 0 ? *first : 0);
  const int64_t missing = *first - axis - *second;
  if (axis < 0 || missing < 0) return;
  remove_attribute(node.proto, "axis");
  if (missing > 0) append_axes(graph, node, 1, *second, missing);
}

// Before opset 7, a list of slopes has one for each channel.
void spell_prelu(OnnxGraph& graph, OnnxNode& node) {
  if (graph.opset() >= 7 || rank_of(graph, node.proto.input(1)) != 1) return;
  const auto rank = rank_of(graph, node.proto.input(0));
  if (rank && *rank > 2) append_axes(graph, node, 1, 1, *rank - 2);
}

// Without axes, all axes of size 1 are removed. The batch may have another
// size.
void spell_squeeze(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  if (find_attribute(proto, "axes") != nullptr ||
      (proto.input_size() > 1 && !proto.input(1).empty())) {
    return;
  }
  const auto dims = graph.stated(proto.input(0));
  if (!dims) return;
  Integers axes;
  for (size_t axis = 0; axis < dims->size(); ++axis) {
    if ((*dims)[axis] < 0 && axis > 0) return;
    if ((*dims)[axis] == 1) axes.push_back(static_cast<int64_t>(axis));
  }
  onnx::NodeProto squeeze = proto;
  if (axes.empty()) {
    squeeze = node_of("Identity", {proto.input(0)}, "");
  } else if (graph.opset() < 13) {
    set_integers(squeeze, "axes", axes);
  } else {
    squeeze.clear_input();
    squeeze.add_input(proto.input(0));
    squeeze.add_input(add_integers(graph, proto.output(0) + "/axes", axes));
  }
  graph.replace(node, squeeze, {});
}

// Before opset 6, the type is a name.
void spell_cast(OnnxGraph&, OnnxNode& node) {
  const auto* to = find_attribute(node.proto, "to");
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  if (to == nullptr || to->type() != onnx::AttributeProto::STRING ||
      !onnx::TensorProto::DataType_Parse(to->s(), &type)) {
    return;
  }
  if (type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::DOUBLE) {
    type = onnx::TensorProto::FLOAT;
  }
  set_integer(node.proto, "to", type);
}

// The product W x of a matrix and a vector is that of x and the transpose of W,
// a Dense layer.
void spell_matmul(OnnxGraph& graph, OnnxNode& node) {
  const OnnxConstant* left = graph.constant(node.proto.input(0));
  if (left == nullptr || left->value.dtype() != DType::f32 ||
      left->value.shape().rank() != 2 ||
      rank_of(graph, node.proto.input(1)) != 1) {
    return;
  }
  onnx::NodeProto by = node.proto;
  by.set_input(0, node.proto.input(1));
  by.set_input(1, graph.add_constant(node.proto.input(0) + "/transposed",
                                     left->value.transposed({1, 0})));
  graph.replace(node, by, {});
}

/// Returns the name of a constant with the factors of an Upsample before opset
/// 9; "" for attributes that are missing.
std::string upsample_scales(OnnxGraph& graph, const onnx::NodeProto& node) {
  std::vector<float> scales;
  if (const auto* given = find_attribute(node, "scales")) {
    scales.assign(given->floats().begin(), given->floats().end());
  } else if (find_attribute(node, "height_scale") != nullptr) {
    scales = {1, 1, number_of(node, "height_scale", 1),
              number_of(node, "width_scale", 1)};
  }
  if (scales.empty()) return "";
  return graph.add_constant(node.output(0) + "/scales",
                            Tensor::of<float>({std::ssize(scales)}, scales));
}

// Resize of opset 11 with the pixel positions of older ones. Source: ONNX
// Upsample-9 and Resize-10, x_original = x_resized / scale.
void spell_resize(OnnxGraph& graph, OnnxNode& node) {
  const onnx::NodeProto& old = node.proto;
  if (old.op_type() == "Resize" && graph.opset() >= 11) return;
  std::string scales =
      old.input_size() > 1 ? old.input(1) : upsample_scales(graph, old);
  if (scales.empty()) return;
  onnx::NodeProto resize =
      node_of("Resize", {old.input(0), "", std::move(scales)}, "");
  resize.set_name(old.name());
  const std::string mode = text_of(old, "mode", "nearest");
  set_text(resize, "mode", mode == "bilinear" ? "linear" : mode.c_str());
  set_text(resize, "coordinate_transformation_mode", "asymmetric");
  set_text(resize, "nearest_mode", "floor");
  graph.replace(node, resize, {});
}

}  // namespace

std::string add_integers(OnnxGraph& graph, const std::string& name,
                         const Integers& values) {
  return graph.add_constant(name,
                            Tensor::of<int64_t>({std::ssize(values)}, values));
}

onnx::NodeProto node_of(const char* op, std::vector<std::string> inputs,
                        std::string output) {
  onnx::NodeProto node;
  node.set_op_type(op);
  for (std::string& input : inputs) node.add_input(std::move(input));
  node.add_output(std::move(output));
  return node;
}

std::optional<int64_t> rank_of(const OnnxGraph& graph,
                               const std::string& value) {
  if (const OnnxConstant* constant = graph.constant(value)) {
    return constant->value.shape().rank();
  }
  const auto dims = graph.stated(value);
  return dims ? std::optional<int64_t>(std::ssize(*dims)) : std::nullopt;
}

void use_common_spelling(OnnxGraph& graph, OnnxNode& node) {
  using Spelling = void (*)(OnnxGraph&, OnnxNode&);
  static const std::unordered_map<std::string_view, Spelling> kSpellings{
      {"Add", spell_broadcast},
      {"And", spell_broadcast},
      {"BatchNormalization", spell_batch_normalization},
      {"Cast", spell_cast},
      {"Div", spell_broadcast},
      {"Dropout", spell_dropout},
      {"Equal", spell_broadcast},
      {"Greater", spell_broadcast},
      {"Less", spell_broadcast},
      {"MatMul", spell_matmul},
      {"Mul", spell_broadcast},
      {"Or", spell_broadcast},
      {"PRelu", spell_prelu},
      {"Pow", spell_broadcast},
      {"Resize", spell_resize},
      {"Squeeze", spell_squeeze},
      {"Sub", spell_broadcast},
      {"Upsample", spell_resize},
      {"Xor", spell_broadcast},
  };
  if (!is_standard_domain(node.proto.domain()) ||
      node.proto.input_size() == 0 || node.proto.output_size() == 0) {
    return;
  }
  const auto found = kSpellings.find(node.proto.op_type());
  if (found != kSpellings.end()) found->second(graph, node);
}

}  // namespace octet::io::importing
