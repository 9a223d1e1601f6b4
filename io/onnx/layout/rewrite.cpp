#include <algorithm>
#include <list>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "assign.h"
#include "onnx/check/check.h"
#include "onnx/graph/attributes.h"
#include "rewriter.h"

namespace octet::io::layout {

void Rewriter::reserve_names() {
  for (const LayoutNode& node : graph_.nodes()) {
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
  // Graph outputs keep their original order: permuted ones are stored under
  // another name.
  for (const auto& output : proto_.output()) {
    if (is_identity(graph_.stored_order(output.name()))) continue;
    stored_names_[output.name()] = value_names_.add(output.name() + "/stored");
  }
}

AssignedLayout Rewriter::run() {
  const std::unordered_set<std::string> consumed = consumed_in(proto_);
  reserve_names();
  choose_kept_nodes();
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index >= 0) add(node);
  }
  int output = 0;
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index >= 0 || node.inputs.empty()) continue;
    const std::string& name = proto_.output(output++).name();
    port_names_[&node] = name;
    add_output(node, name);
  }
  sort_nodes();
  proto_.clear_node();
  for (onnx::NodeProto& node : nodes_) *proto_.add_node() = std::move(node);
  replace_constants();
  drop_unused_constants(consumed);
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index < 0) exchange_port_axes(node);
  }
  return std::move(result_);
}

/// Added nodes take the places of the original ones.
void Rewriter::sort_nodes() {
  std::vector<size_t> order(nodes_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(order, {}, [this](size_t i) { return indices_[i]; });
  std::vector<onnx::NodeProto> sorted;
  for (const size_t i : order) sorted.push_back(std::move(nodes_[i]));
  nodes_ = std::move(sorted);
}

/// Sets the sizes of an input or output.
void Rewriter::exchange_port_axes(const LayoutNode& node) {
  if (is_identity(node.order)) return;
  const bool is_input = node.inputs.empty();
  const std::string& name = is_input ? node.outputs[0] : port_names_.at(&node);
  auto& ports = is_input ? *proto_.mutable_input() : *proto_.mutable_output();
  for (auto& port : ports) {
    if (port.name() != name) continue;
    auto* shape = port.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim()->SwapElements(1, 2);
    result_.transposed_ports.insert(name);
  }
}

void Rewriter::push(onnx::NodeProto node, int index) {
  nodes_.push_back(std::move(node));
  indices_.push_back(index);
}

class Rewriter::NodeEdit final : public Edit {
 public:
  NodeEdit(Rewriter& rewriter, onnx::NodeProto node, int index)
      : rewriter_(rewriter), index_(index), nodes_{std::move(node)} {}

  onnx::NodeProto& node() override { return nodes_.front(); }
  void set_list(int index, const std::vector<int64_t>& values) override {
    const std::string name = fmt::format("{}/{}", node().name(), index);
    const std::string added = rewriter_.integers(name, values);
    if (index == node().input_size()) {
      node().add_input(added);
      return;
    }
    rewriter_.replacements_.emplace_back(added, node().input(index));
    *node().mutable_input(index) = added;
  }
  void set_weight(int index, const Rearrangement& moves,
                  int channels) override {
    rewriter_.rearrange_weight(*node().mutable_input(index), moves, channels);
  }
  void append(const std::string& op, const std::string& name, int index,
              const Rearrangement& moves) override {
    onnx::NodeProto& next = add_behind(op, name);
    next.add_input(rewriter_.constant(node().input(index), moves));
    node().mutable_input()->DeleteSubrange(index, 1);
  }
  void reshape_around(const std::vector<int64_t>& input,
                      const std::vector<int64_t>& output) override {
    onnx::NodeProto first;
    first.set_op_type("Reshape");
    first.set_name(rewriter_.node_names_.add(node().name() + "/rows"));
    first.add_input(node().input(0));
    first.add_input(rewriter_.integers(first.name(), input));
    first.add_output(rewriter_.value_names_.add(first.name() + "/output"));
    *node().mutable_input(0) = first.output(0);
    rewriter_.result_.added[first.name()] = node().name();
    rewriter_.push(std::move(first), index_);
    onnx::NodeProto& last = add_behind("Reshape", "tokens");
    last.add_input(rewriter_.integers(last.name(), output));
  }

  void finish() {
    for (onnx::NodeProto& node : nodes_) {
      rewriter_.push(std::move(node), index_);
    }
  }

 private:
  /// Returns a new node that consumes the output and replaces it for other
  /// consumers.
  onnx::NodeProto& add_behind(const std::string& op, const std::string& name) {
    onnx::NodeProto& last = nodes_.back();
    onnx::NodeProto next;
    next.set_op_type(op);
    next.set_name(rewriter_.node_names_.add(node().name() + "/" + name));
    const std::string& root = rewriter_.graph_.proto().node(index_).output(0);
    const auto& ports = rewriter_.proto_.output();
    const bool is_port = std::ranges::any_of(
        ports, [&](const auto& port) { return port.name() == root; });
    const std::string added =
        rewriter_.value_names_.add((is_port ? last : next).name() + "/output");
    next.add_output(is_port ? last.output(0) : added);
    if (is_port) {
      *last.mutable_output(0) = added;
    } else {
      rewriter_.stored_names_[root] = added;
    }
    next.add_input(last.output(0));
    rewriter_.result_.added[next.name()] = node().name();
    return nodes_.emplace_back(std::move(next));
  }

  Rewriter& rewriter_;
  int index_;
  std::list<onnx::NodeProto> nodes_;
};

/// Rearranges a constant, also in front of a pair of Q/DQ.
void Rewriter::rearrange_weight(std::string& input, const Rearrangement& moves,
                                int channels) {
  std::string* value = &input;
  for (const char* op : {"DequantizeLinear", "QuantizeLinear"}) {
    const auto pair = std::ranges::find_if(
        nodes_.rbegin(), nodes_.rend(), [&](const onnx::NodeProto& node) {
          return node.output(0) == *value && node.op_type() == op;
        });
    if (pair == nodes_.rend()) break;
    if (find_attribute(*pair, "axis") != nullptr) {
      set_integer(*pair, "axis", channels);
    }
    value = pair->mutable_input(0);
  }
  *value = constant(*value, moves);
}

/// Returns the rearrangement of a vector of the node's features.
static Rearrangement feature_moves(const LayoutNode& node) {
  Rearrangement moves{.split = node.features, .order = {}, .joined = {Dim()}};
  for (const int axis : node.order) {
    if (axis > 0) moves.order.push_back(axis - 1);
  }
  for (const Dim& dim : node.features) moves.joined[0].factor *= dim.factor;
  return moves;
}

void Rewriter::add(const LayoutNode& node) {
  onnx::NodeProto proto = graph_.proto().node(node.index);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    *proto.mutable_input(static_cast<int>(i)) = input_of(node, i);
  }
  for (auto& output : *proto.mutable_output()) output = stored_name(output);
  NodeEdit edit(*this, std::move(proto), node.index);
  if (!is_identity(node.order)) {
    if (!node.features.empty()) {
      if (node.rule->rearrange) node.rule->rearrange(edit, feature_moves(node));
    } else if (node.rule->apply) {
      node.rule->apply(edit, node.order);
    }
  }
  edit.finish();
}

std::string Rewriter::input_of(const LayoutNode& node, size_t input) {
  const LayoutOperand& operand = node.inputs[input];
  if (kept_.contains(&operand)) return keep(operand);
  const std::optional<AxisLayout> layout = graph_.layout(node, input);
  if (!layout || (operand.movements.empty() && !is_permuted(node, input))) {
    return stored_name(operand.root);
  }
  const LayoutValue& root = graph_.value(operand.root);
  if (root.is_constant) {
    return constant_of(operand, *layout);
  }
  Place place;
  place.index = node.index < 0 ? graph_.proto().node_size() : node.index;
  if (node.index >= 0) {
    place.consumer = graph_.proto().node(node.index).name();
  }
  for (const int index : operand.movements) {
    const onnx::NodeProto& movement = graph_.proto().node(index);
    place.index = index;
    if (movement.op_type() != "Transpose") place.reshape = &movement;
    if (movement.op_type() == "Transpose" && place.reshape != nullptr) continue;
    place.base = movement.name();
  }
  if (node.index < 0 && place.base.empty()) place.base = port_names_.at(&node);
  if (place.consumer.empty()) place.consumer = place.base;
  return rearranged(operand.root, moves_of(*layout), *layout, place);
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

void Rewriter::add_output(const LayoutNode& node, const std::string& name) {
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
  result_.added[identity.name()] = identity.name();
  push(std::move(identity), graph_.proto().node_size());
}

AssignedLayout rewrite(const LayoutGraph& graph, onnx::ModelProto& model,
                       LargeConstants& large) {
  return Rewriter(graph, model, large).run();
}

}  // namespace octet::io::layout

namespace octet::io {

AssignedLayout minimize_transposes(
    onnx::ModelProto& model, LargeConstants& large,
    const std::unordered_set<std::string>& open) {
  const bool has_transposes = std::ranges::any_of(
      model.graph().node(), [](const onnx::NodeProto& node) {
        return node.op_type() == "Transpose";
      });
  if (!has_transposes) return {};
  infer_shapes(model);
  AssignedLayout result;
  {
    layout::LayoutGraph graph(model, open);
    layout::assign_orders(graph);
    result = layout::rewrite(graph, model, large);
  }
  model.mutable_graph()->clear_value_info();
  return result;
}

}  // namespace octet::io
