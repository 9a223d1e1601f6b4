// Insertion of the nodes that replace an operator.
#include <algorithm>
#include <array>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "lowering.h"
#include "onnx/reference/constants.h"
#include "passes.h"

namespace octet::io::importing {
namespace {

using lowering::Integers;
using lowering::Unknown;
using lowering::Value;

/// A list that is an attribute before an opset, and input 1 since then.
struct ListInput {
  std::string_view op;  ///< or the beginning of its name
  int64_t since;
};
constexpr std::array kAxes{ListInput{"ReduceSum", 13}, ListInput{"Reduce", 18},
                           ListInput{"Squeeze", 13},
                           ListInput{"Unsqueeze", 13}};

void move_axes_to_attribute(onnx::NodeProto& node, const Integers& axes,
                            int64_t opset) {
  for (const ListInput& list : kAxes) {
    if (!node.op_type().starts_with(list.op)) continue;
    if (opset >= list.since) return;
    set_integers(node, "axes", axes);
    node.mutable_input()->RemoveLast();
    return;
  }
}

bool is_movement(std::string_view op) {
  return op == "Reshape" || op == "Transpose" || op == "Cast";
}

/// Collects nodes and constants, which become part of the graph together.
class Expansion final : public lowering::Builder {
 public:
  Expansion(OnnxGraph& graph, const onnx::NodeProto& node)
      : Builder(node, graph.opset()), graph_(graph) {}

  bool is_import() const override { return true; }

  Value input(size_t i) override {
    if (std::cmp_greater_equal(i, node().input_size())) return {};
    const std::string& name = node().input(static_cast<int>(i));
    const OnnxConstant* constant = graph_.constant(name);
    if (constant == nullptr) return {name};
    if (constant->depends_on_batch()) throw Unknown();
    return {name, std::make_shared<const Tensor>(constant->value)};
  }
  Integers dims(const Value& value) const override {
    if (value.tensor) {
      const auto dims = value.tensor->shape().dims();
      return {dims.begin(), dims.end()};
    }
    const auto stated = graph_.stated(value.name);
    if (!stated) throw Unknown();
    return *stated;
  }
  int64_t type(const Value& value) const override {
    if (value.tensor) return run::onnx_type_of(value.tensor->dtype());
    const int32_t type = graph_.element_type(value.name);
    if (type == onnx::TensorProto::UNDEFINED) throw Unknown();
    return type;
  }
  Value constant(const Tensor& value) override {
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

  Value add(onnx::NodeProto proto, const lowering::Values& inputs,
            int64_t) override {
    for (const Value& value : inputs) proto.add_input(value.name);
    while (proto.input_size() > 0 &&
           proto.input(proto.input_size() - 1).empty()) {
      proto.mutable_input()->RemoveLast();
    }
    if (inputs.size() == 2 && inputs[1].tensor &&
        inputs[1].tensor->dtype() == DType::i64) {
      const auto list = std::as_const(*inputs[1].tensor).data<int64_t>();
      move_axes_to_attribute(proto, {list.begin(), list.end()}, opset());
    }
    proto.add_output(
        graph_.unique_name(node().output(0) + "/" + proto.op_type()));
    nodes_.push_back(std::move(proto));
    return {nodes_.back().output(0)};
  }

  /// Replaces the node, if `result` is the output of the last collected node.
  void replace(OnnxNode& anchor, const Value& result) {
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
  OnnxGraph& graph_;
  std::list<onnx::NodeProto> nodes_;
  std::list<std::pair<std::string, Tensor>> constants_;
};

}  // namespace

void expand_lowering(OnnxGraph& graph, OnnxNode& node) {
  const lowering::Row* row =
      lowering::find_row(node.proto, graph.opset(), lowering::Use::import);
  if (row == nullptr) return;
  const onnx::NodeProto old = node.proto;
  Expansion expansion(graph, old);
  try {
    const lowering::Values values = lowering::lowered(expansion, *row);
    if (values.size() == 1) expansion.replace(node, values[0]);
  } catch (const Unknown&) {
    // stays as it is
  }
}

}  // namespace octet::io::importing
