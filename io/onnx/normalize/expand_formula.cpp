// Insertion of the nodes that replace an operator.
#include <algorithm>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "formulas.h"
#include "onnx/graph/operator_traits.h"
#include "onnx/graph/opsets.h"
#include "onnx/reference/constants.h"
#include "passes.h"

namespace octet::io::importing {
namespace {

using formula::GraphValue;
using formula::Integers;
using formula::Unknown;

bool is_movement(std::string_view op) {
  return op == "Reshape" || op == "Transpose" || op == "Cast";
}

/// Collects nodes and constants, which become part of the graph together.
class FormulaNodes final : public formula::FormulaGraph {
 public:
  FormulaNodes(OnnxGraph& graph, const onnx::NodeProto& node)
      : FormulaGraph(node, graph.opset()), graph_(graph) {}

  bool is_import() const override { return true; }

  GraphValue input(size_t i) override {
    if (std::cmp_greater_equal(i, node().input_size())) return {};
    const std::string& name = node().input(static_cast<int>(i));
    const OnnxConstant* constant = graph_.constant(name);
    if (constant == nullptr) return {name};
    if (constant->depends_on_batch()) throw Unknown();
    return {name, std::make_shared<const Tensor>(constant->value)};
  }
  Integers dims(const GraphValue& value) const override {
    if (value.tensor) {
      const auto dims = value.tensor->shape().dims();
      return {dims.begin(), dims.end()};
    }
    const auto stated = graph_.stated(value.name);
    if (!stated) throw Unknown();
    return *stated;
  }
  int64_t type(const GraphValue& value) const override {
    if (value.tensor) return run::onnx_type_of(value.tensor->dtype());
    const int32_t type = graph_.element_type(value.name);
    if (type == onnx::TensorProto::UNDEFINED) throw Unknown();
    return type;
  }
  GraphValue constant(const Tensor& value) override {
    std::string name = graph_.unique_name(node().output(0) + "/constant");
    constants_.emplace_back(name, value);
    return {std::move(name), std::make_shared<const Tensor>(value)};
  }
  // The converter reports invalid nodes.
  [[noreturn]] void refuse(const std::string&) const override {
    throw Unknown();
  }
  [[noreturn]] void unsupported(const std::string&) const override {
    throw Unknown();
  }

  GraphValue add(onnx::NodeProto proto, const formula::GraphValues& inputs,
                 int64_t) override {
    for (const GraphValue& value : inputs) proto.add_input(value.name);
    while (proto.input_size() > 0 &&
           proto.input(proto.input_size() - 1).empty()) {
      proto.mutable_input()->RemoveLast();
    }
    if (inputs.size() == 2 && inputs[1].tensor &&
        inputs[1].tensor->dtype() == DType::i64) {
      const auto list = std::as_const(*inputs[1].tensor).data<int64_t>();
      set_axes(proto, {list.begin(), list.end()});
    }
    proto.add_output(
        graph_.unique_name(node().output(0) + "/" + proto.op_type()));
    nodes_.push_back(std::move(proto));
    return {nodes_.back().output(0)};
  }

  /// Replaces the node, if `result` is the output of the last collected node.
  void replace(OnnxNode& anchor, const GraphValue& result) {
    if (nodes_.empty() || nodes_.back().output(0) != result.name) return;
    for (auto& [name, value] : constants_) {
      graph_.set_constant(name, {value, {}, name});
    }
    onnx::NodeProto last = std::move(nodes_.back());
    nodes_.pop_back();
    // The layer is that of the last node that computes.
    const bool moves = is_movement(last.op_type());
    const auto main = std::find_if(
        nodes_.rbegin(), nodes_.rend(),
        [](const auto& each) { return !is_movement(each.op_type()); });
    for (onnx::NodeProto& each : nodes_) {
      const bool is_main = moves && main != nodes_.rend() && &each == &*main;
      if (is_main) each.set_name(node().name());
      use_float32(graph_, graph_.insert_before(
                              anchor, std::move(each),
                              is_main ? std::exchange(anchor.origin, {})
                                      : std::vector<size_t>()));
    }
    graph_.replace(anchor, last, {});
    use_float32(graph_, anchor);
  }

 private:
  /// Moves axes from an input to the attribute of older opsets.
  void set_axes(onnx::NodeProto& proto, const Integers& axes) const {
    const std::string& op = proto.op_type();
    const bool has_axes = traits_of(op).axes == AxisRole::reduction ||
                          op == "Squeeze" || op == "Unsqueeze";
    if (!has_axes || opset() >= axes_as_input_since(op)) return;
    set_integers(proto, "axes", axes);
    proto.mutable_input()->RemoveLast();
  }

  OnnxGraph& graph_;
  std::list<onnx::NodeProto> nodes_;
  std::list<std::pair<std::string, Tensor>> constants_;
};

}  // namespace

void expand_formula(OnnxGraph& graph, OnnxNode& node) {
  const formula::Formula* found =
      formula::find_formula(node.proto, graph.opset(), formula::Use::import);
  if (found == nullptr) return;
  const onnx::NodeProto old = node.proto;
  FormulaNodes nodes(graph, old);
  try {
    const formula::GraphValues values = formula::outputs_of(nodes, *found);
    if (values.size() == 1) nodes.replace(node, values[0]);
  } catch (const Unknown&) {
    // stays as it is
  }
}

}  // namespace octet::io::importing
