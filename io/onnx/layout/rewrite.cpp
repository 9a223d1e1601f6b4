#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "assign.h"
#include "rewriter.h"

namespace octet::io::layout {

void Rewriter::reserve_names() {
  for (const Node& node : graph_.nodes()) {
    if (node.index < 0) continue;
    const onnx::NodeProto& proto = graph_.proto().node(node.index);
    node_names_.insert(proto.name());
    for (const auto& output : proto.output()) value_names_.insert(output);
  }
  for (const auto& input : proto_.input()) value_names_.insert(input.name());
  for (const auto& output : proto_.output()) value_names_.insert(output.name());
  for (const auto& tensor : proto_.initializer()) {
    value_names_.insert(tensor.name());
  }
  // Graph outputs keep their original order.
  for (const auto& output : proto_.output()) {
    if (is_identity(graph_.stored_order(output.name()))) continue;
    stored_names_[output.name()] = value_names_.add(output.name() + "/stored");
  }
}

std::unordered_map<std::string, std::string> Rewriter::run() {
  const std::unordered_set<std::string> consumed = consumed_in(proto_);
  reserve_names();
  choose_kept_nodes();
  for (const Node& node : graph_.nodes()) {
    if (node.index >= 0) add(node);
  }
  int output = 0;
  for (const Node& node : graph_.nodes()) {
    if (node.index < 0) add_output(node, proto_.output(output++).name());
  }
  proto_.clear_node();
  for (onnx::NodeProto& node : nodes_) *proto_.add_node() = std::move(node);
  drop_unused_constants(consumed);
  return std::move(added_);
}

class Rewriter::NodeEdit final : public Edit {
 public:
  NodeEdit(Rewriter& rewriter, onnx::NodeProto node)
      : rewriter_(rewriter), nodes_{std::move(node)} {}

  onnx::NodeProto& node() override { return nodes_.front(); }
  void set_list(int index, const std::vector<int64_t>& values) override {
    const std::string name = fmt::format("{}/{}", node().name(), index);
    set_input(index, rewriter_.integers(name, values));
  }
  void set_constant(int index, const Rearrangement& moves) override {
    set_input(index, rewriter_.constant(node().input(index), moves));
  }
  std::vector<float> floats(int index) override {
    const Tensor value = rewriter_.value_of(node().input(index));
    const auto elements = value.f32();
    return {elements.begin(), elements.end()};
  }
  void append(const std::string& op, const std::vector<float>& values,
              const std::vector<int64_t>& sizes) override {
    onnx::NodeProto next;
    next.set_op_type(op);
    next.set_name(rewriter_.node_names_.add(node().name() + "/" + op));
    next.add_output(nodes_.back().output(0));
    *nodes_.back().mutable_output(0) =
        rewriter_.value_names_.add(nodes_.back().name() + "/product");
    next.add_input(nodes_.back().output(0));
    next.add_input(rewriter_.floats(next.name(), values, sizes));
    rewriter_.added_[next.name()] = node().name();
    nodes_.push_back(std::move(next));
  }

  void finish() {
    for (onnx::NodeProto& node : nodes_) {
      rewriter_.nodes_.push_back(std::move(node));
    }
  }

 private:
  void set_input(int index, const std::string& name) {
    if (index == node().input_size()) node().add_input();
    *node().mutable_input(index) = name;
  }

  Rewriter& rewriter_;
  std::vector<onnx::NodeProto> nodes_;
};

void Rewriter::add(const Node& node) {
  onnx::NodeProto proto = graph_.proto().node(node.index);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    *proto.mutable_input(static_cast<int>(i)) = input_of(node, i);
  }
  for (auto& output : *proto.mutable_output()) output = stored_name(output);
  NodeEdit edit(*this, std::move(proto));
  if (!is_identity(node.order) && node.rule->apply) {
    node.rule->apply(edit, node.order);
  }
  edit.finish();
}

std::string Rewriter::input_of(const Node& node, size_t input) {
  const Operand& operand = node.inputs[input];
  if (kept_.contains(&operand)) return keep(operand);
  const std::optional<AxisLayout> layout = graph_.layout(node, input);
  if (!layout || (operand.movements.empty() && !is_permuted(node, input))) {
    return stored_name(operand.root);
  }
  const Value& root = graph_.value(operand.root);
  if (root.is_constant) {
    // A scalar broadcasts in any order.
    if (root.dims->empty()) return operand.root;
    return constant(operand.root, layout->rearrangement());
  }
  Place place;
  if (node.index >= 0) {
    place.consumer = graph_.proto().node(node.index).name();
  }
  if (!operand.movements.empty()) {
    const onnx::NodeProto& last = graph_.proto().node(operand.movements.back());
    place.base = last.name();
    if (last.op_type() == "Reshape") place.reshape = &last;
  }
  if (place.consumer.empty()) place.consumer = place.base;
  return rearranged(operand.root, layout->rearrangement(), *layout, place);
}

void Rewriter::rename(const std::string& value, const std::string& name) {
  for (onnx::NodeProto& node : nodes_) {
    for (auto& input : *node.mutable_input()) {
      if (input == value) input = name;
    }
    for (auto& output : *node.mutable_output()) {
      if (output == value) output = name;
    }
  }
  for (auto* names : {&transposed_, &reshaped_, &stored_names_}) {
    for (auto& [key, stored] : *names) {
      if (stored == value) stored = name;
    }
  }
  stored_names_.try_emplace(value, name);
  const auto dims = transposed_dims_.find(value);
  if (dims != transposed_dims_.end()) transposed_dims_[name] = dims->second;
}

void Rewriter::add_output(const Node& node, const std::string& name) {
  const std::string value = input_of(node, 0);
  if (value == name) return;
  const auto is_port = [&](const auto& ports) {
    return std::ranges::any_of(
        ports, [&](const auto& port) { return port.name() == value; });
  };
  const bool is_constant = std::ranges::any_of(
      proto_.initializer(),
      [&](const auto& tensor) { return tensor.name() == value; });
  if (!is_port(proto_.input()) && !is_port(proto_.output()) && !is_constant) {
    return rename(value, name);
  }
  onnx::NodeProto identity;
  identity.set_op_type("Identity");
  identity.set_name(node_names_.add(name));
  identity.add_input(value);
  identity.add_output(name);
  added_[identity.name()] = identity.name();
  nodes_.push_back(std::move(identity));
}

std::unordered_map<std::string, std::string> rewrite(const Graph& graph,
                                                     onnx::ModelProto& model,
                                                     LargeConstants& large) {
  return Rewriter(graph, model, large).run();
}

}  // namespace octet::io::layout
