// Constant folding.
#include "fold.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include <octet/runtime/error.h>

#include "fold_samples.h"
#include "onnx/check/proto_limits.h"
#include "onnx/reference/constants.h"
#include "onnx/reference/operators.h"
#include "subgraphs.h"

namespace octet::io::importing {
namespace {

enum class Folds { no, yes, for_samples };

Folds folds(const OnnxGraph& graph, const onnx::NodeProto& node) {
  if (!is_standard_domain(node.domain()) || node.output_size() == 0) {
    return Folds::no;
  }
  const std::string& op = node.op_type();
  if (op == "Constant") return run::has_constant(node) ? Folds::yes : Folds::no;
  if (op == "QuantizeLinear" || op == "DequantizeLinear" || op == "Dropout" ||
      run::find_operator(node) == nullptr || node.input_size() == 0) {
    return Folds::no;
  }
  Folds result = Folds::yes;
  for (const std::string& input : node.input()) {
    if (input.empty()) continue;
    const Constant* constant = graph.constant(input);
    if (constant == nullptr) return Folds::no;
    if (constant->samples_axis || !constant->times_batch.empty()) {
      result = Folds::for_samples;
    }
  }
  return result;
}

/// Moves the axis of a weight's scales with the weight.
std::optional<WeightQuantParams> moved_qparams(const Constant& from,
                                               const onnx::NodeProto& node) {
  std::optional<WeightQuantParams> qparams = from.qparams;
  const bool same = node.op_type() == "Identity" || node.op_type() == "Cast";
  if (!qparams || same || !qparams->per_channel) return qparams;
  if (node.op_type() != "Transpose") return std::nullopt;
  const int rank = from.value.shape().rank();
  std::vector<int64_t> perm = integers_of(node, "perm");
  if (perm.empty()) {
    for (int axis = rank; axis-- > 0;) perm.push_back(axis);
  }
  qparams->axis = std::ranges::find(perm, qparams->axis) - perm.begin();
  return qparams;
}

/// Computes the outputs of a node with constant inputs.
std::vector<Tensor> outputs_of(OnnxGraph& graph, const onnx::NodeProto& node) {
  std::vector<Tensor> inputs;
  for (const std::string& input : node.input()) {
    inputs.push_back(input.empty() ? Tensor() : graph.constant(input)->value);
  }
  const run::NodeContext context(node, graph.opset(), inputs, graph.budget());
  context.check_time();
  std::vector<Tensor> outputs;
  try {
    outputs = run::find_operator(node)(context);
  } catch (const ShapeError& error) {
    context.refuse(error.message());
  } catch (const ValueError& error) {
    context.refuse(error.message());
  }
  for (const Tensor& output : outputs) graph.budget().hold(output);
  graph.budget().settle();
  return outputs;
}

/// Folds NotEqual, which recompose() writes for Not(Equal).
bool fold_not_equal(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto equal = node.proto;
  equal.set_op_type("Equal");
  if (folds(graph, equal) != Folds::yes) return false;
  Tensor result = computed(graph, equal).clone();
  for (bool& truth : result.data<bool>()) truth = !truth;
  graph.set_constant(equal.output(0),
                     {.value = result, .source = equal.output(0)});
  graph.remove(node, "constant");
  return true;
}

}  // namespace

bool is_one_of(std::string_view op, std::string_view operators) {
  for (size_t from = 0; from < operators.size();) {
    const size_t to = std::min(operators.find(' ', from), operators.size());
    if (operators.substr(from, to - from) == op) return true;
    from = to + 1;
  }
  return false;
}

bool has_constant_inputs(const OnnxGraph& graph, const onnx::NodeProto& node) {
  return std::ranges::all_of(node.input(), [&](const std::string& input) {
    return input.empty() || graph.constant(input) != nullptr;
  });
}

Tensor computed(OnnxGraph& graph, const onnx::NodeProto& node) {
  return outputs_of(graph, node).at(0);
}

bool fold(OnnxGraph& graph, OnnxNode& node) {
  const onnx::NodeProto& proto = node.proto;
  if (proto.op_type() == "NotEqual") return fold_not_equal(graph, node);
  const Folds way = folds(graph, proto);
  if (way == Folds::no) return false;
  if (way == Folds::for_samples) {
    auto value = fold_for_samples(graph, proto);
    if (!value) return false;
    graph.set_constant(proto.output(0), std::move(*value));
    graph.remove(node, "constant");
    return true;
  }
  if (proto.op_type() == "Constant") {
    graph.set_constant(proto.output(0),
                       {run::constant(proto), {}, proto.output(0)});
    graph.remove(node, "constant");
    return true;
  }
  std::string source;
  for (const std::string& input : proto.input()) {
    source += (source.empty() ? "" : " ") +
              (input.empty() ? input : graph.constant(input)->source);
  }
  const std::vector<Tensor> values = outputs_of(graph, proto);
  const Constant* first =
      proto.input(0).empty() ? nullptr : graph.constant(proto.input(0));
  std::optional<WeightQuantParams> qparams;
  std::string no_qparams;
  if (first != nullptr) {
    qparams = moved_qparams(*first, proto);
    no_qparams = first->no_qparams;
  }
  if (proto.op_type() != "Identity") source = proto.op_type() + "(" + source;
  // Limits texts that would double in each of many steps.
  constexpr size_t kLongest = 1000;
  if (source.size() > kLongest) source = proto.output(0);
  for (int i = 0; i < proto.output_size(); ++i) {
    if (proto.output(i).empty()) continue;
    if (static_cast<size_t>(i) >= values.size()) return false;
    graph.set_constant(proto.output(i),
                       {.value = values[static_cast<size_t>(i)],
                        .qparams = qparams,
                        .source = i == 0 ? source : proto.output(i),
                        .no_qparams = no_qparams});
  }
  graph.remove(node, "constant");
  return true;
}

void fold_constants(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (node.gone) continue;
    if (has_subgraph_to_inline(node)) {
      (void)inline_subgraph(graph, node);
    } else {
      (void)fold(graph, node);
    }
  }
}

}  // namespace octet::io::importing
