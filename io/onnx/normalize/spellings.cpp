// Equivalent spellings of operators become the form of a recent opset.
#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/runtime/error.h>

#include "fold.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
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
      {"BatchNormalization", spell_batch_normalization},
      {"Dropout", spell_dropout},
      {"MatMul", spell_matmul},
  };
  if (!is_standard_domain(node.proto.domain()) ||
      node.proto.input_size() == 0 || node.proto.output_size() == 0) {
    return;
  }
  expand_formula(graph, node);
  const auto found = kSpellings.find(node.proto.op_type());
  if (found != kSpellings.end()) found->second(graph, node);
}

}  // namespace octet::io::importing
