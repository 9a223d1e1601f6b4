#include <algorithm>
#include <list>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "assign.h"
#include "onnx/check/check.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/qdq.h"
#include "rewriter.h"

namespace octet::io::layout {

void Rewriter::reserve_names() {
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index < 0) continue;
    const onnx::NodeProto& proto = graph_.proto().node(node.index);
    node_names_.insert(proto.name());
    for (const auto& output : proto.output()) value_names_.insert(output);
  }
  for (const onnx::NodeProto& node : graph_.proto().node()) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    node_names_.insert(node.name());
    value_names_.insert(node.output(0));
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

AddedNodes Rewriter::run() {
  const std::unordered_set<std::string> consumed = consumed_in(proto_);
  reserve_names();
  choose_kept_nodes();
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index >= 0) add(node);
  }
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index < 0 && !node.inputs.empty()) add_output(node, node.port);
  }
  sort_nodes();
  proto_.clear_node();
  for (onnx::NodeProto& node : nodes_) *proto_.add_node() = std::move(node);
  replace_constants();
  drop_unused_constants(consumed);
  for (const LayoutNode& node : graph_.nodes()) {
    if (node.index < 0) exchange_port_axes(node);
  }
  return std::move(added_);
}

/// Sorts added nodes to the positions of the nodes that they replace.
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
  auto& ports =
      node.inputs.empty() ? *proto_.mutable_input() : *proto_.mutable_output();
  for (auto& port : ports) {
    if (port.name() != node.port) continue;
    auto* shape = port.mutable_type()->mutable_tensor_type()->mutable_shape();
    shape->mutable_dim()->SwapElements(1, 2);
  }
}

void Rewriter::push(onnx::NodeProto node, int index) {
  for (const auto& output : node.output()) places_[output] = index;
  nodes_.push_back(std::move(node));
  indices_.push_back(index);
}

/// Whether an input is a constant before Q/DQ that is quantized after the edit
/// of the node, which may rearrange it.
static bool is_weight(const LayoutGraph& graph, const LayoutNode& node,
                      size_t input) {
  const LayoutOperand& operand = node.inputs[input];
  return graph.value(operand.root).is_constant && operand.steps.empty() &&
         !operand.quantizers.empty();
}

class Rewriter::NodeEdit final : public Edit {
 public:
  NodeEdit(Rewriter& rewriter, onnx::NodeProto node, const LayoutNode& from)
      : rewriter_(rewriter),
        from_(from),
        index_(from.index),
        nodes_{std::move(node)} {}

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
    std::string& input = *node().mutable_input(index);
    const LayoutOperand& weight = from_.inputs[static_cast<size_t>(index)];
    input = weight.quantizers.empty()
                ? rewriter_.constant(input, moves)
                : rewriter_.quantized(weight.quantizers,
                                      rewriter_.constant(weight.root, moves),
                                      channels);
    rearranged_.insert(index);
  }
  void absorb_bias() override {
    const LayoutNode* sum = rewriter_.bias_of(from_);
    if (sum == nullptr) return;
    const bool is_first = sum->inputs[0].root == from_.outputs[0];
    node().add_input(sum->inputs[is_first ? 1 : 0].root);
    rewriter_.absorbed_.insert(sum);
    const std::string& output = sum->outputs[0];
    if (rewriter_.is_port(output) || rewriter_.stored_names_.contains(output)) {
      node().set_output(0, rewriter_.stored_name(output));
    } else {
      rewriter_.stored_names_[output] = node().output(0);
    }
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
    rewriter_.added_[first.name()] = node().name();
    rewriter_.push(std::move(first), index_);
    onnx::NodeProto& last = add_behind("Reshape", "tokens");
    last.add_input(rewriter_.integers(last.name(), output));
  }

  /// Quantizes the weights that were not rearranged.
  void finish() {
    for (size_t i = 0; i < from_.inputs.size(); ++i) {
      const int index = static_cast<int>(i);
      if (!is_weight(rewriter_.graph_, from_, i) || rearranged_.contains(index))
        continue;
      const LayoutOperand& weight = from_.inputs[i];
      const std::string value =
          rewriter_.quantized(weight.quantizers, weight.root);
      const auto& original = rewriter_.graph_.proto().node(index_).input(index);
      for (auto& input : *node().mutable_input()) {
        if (input == original) input = value;
      }
    }
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
    const bool is_port = rewriter_.is_port(root);
    const std::string added =
        rewriter_.value_names_.add((is_port ? last : next).name() + "/output");
    next.add_output(is_port ? last.output(0) : added);
    if (is_port) {
      *last.mutable_output(0) = added;
    } else {
      rewriter_.stored_names_[root] = added;
    }
    next.add_input(last.output(0));
    rewriter_.added_[next.name()] = node().name();
    return nodes_.emplace_back(std::move(next));
  }

  Rewriter& rewriter_;
  const LayoutNode& from_;
  int index_;
  std::list<onnx::NodeProto> nodes_;
  std::set<int> rearranged_;  ///< weights, as indices of inputs
};

/// Returns the rearrangement of a vector of the node's features.
static Rearrangement feature_moves(const LayoutNode& node) {
  Rearrangement moves{.split = node.features, .order = {}, .joined = {Dim()}};
  for (const int axis : node.order) {
    if (axis > 0) moves.order.push_back(axis - 1);
  }
  for (const Dim& dim : node.features) moves.joined[0].factor *= dim.factor;
  return moves;
}

/// Returns the node that adds a bias to axis 1 of a product's output in the
/// order {0,2,1}, if that is its only consumer; or null.
const LayoutNode* Rewriter::bias_of(const LayoutNode& product) const {
  const auto& uses = graph_.value(product.outputs[0]).uses;
  if (uses.size() != 1) return nullptr;
  const LayoutNode& sum = graph_.nodes()[static_cast<size_t>(uses[0].first)];
  if (sum.index < 0 || sum.order != product.order ||
      graph_.proto().node(sum.index).op_type() != "Add") {
    return nullptr;
  }
  const LayoutOperand& own = sum.inputs[static_cast<size_t>(uses[0].second)];
  const LayoutOperand& bias =
      sum.inputs[static_cast<size_t>(1 - uses[0].second)];
  const LayoutValue& value = graph_.value(bias.root);
  const bool fits =
      own.steps.empty() && own.quantizers.empty() && bias.movements.empty() &&
      bias.quantizers.empty() && value.is_constant && value.dims->size() == 1 &&
      value.dims->front() == graph_.value(product.outputs[0]).dims->back();
  return fits ? &sum : nullptr;
}

void Rewriter::add(const LayoutNode& node) {
  if (absorbed_.contains(&node)) return;
  onnx::NodeProto proto = graph_.proto().node(node.index);
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (is_weight(graph_, node, i)) continue;
    *proto.mutable_input(static_cast<int>(i)) = input_of(node, i);
  }
  for (auto& output : *proto.mutable_output()) output = stored_name(output);
  NodeEdit edit(*this, std::move(proto), node);
  if (!is_identity(node.order)) {
    if (!node.features.empty()) {
      if (node.rule->rearrange) node.rule->rearrange(edit, feature_moves(node));
    } else if (node.is_convolution(node.order)) {
      node.rule->as_convolution(edit);
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
    return quantized(operand.quantizers, stored_name(operand.root));
  }
  const LayoutValue& root = graph_.value(operand.root);
  if (root.is_constant) {
    return quantized(operand.quantizers, constant_of(operand, *layout));
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
  if (node.index < 0 && place.base.empty()) place.base = node.port;
  if (place.consumer.empty()) place.consumer = place.base;
  const auto last = std::span(operand.quantizers).subspan(operand.leading);
  if (!last.empty()) place.index = std::min(place.index, last.front());
  return quantized(last, rearranged(operand, *layout, place));
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
  for (auto* names : {&transposed_, &reshaped_, &stored_names_, &quantized_}) {
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
  added_[identity.name()] = identity.name();
  push(std::move(identity), graph_.proto().node_size());
}

AddedNodes rewrite(const LayoutGraph& graph, onnx::ModelProto& model,
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
    layout::LayoutGraph graph(model);
    result.sequences = layout::mark_sequences(graph);
    for (layout::LayoutNode& node : graph.nodes()) {
      if (result.sequences.contains(node.port) && open.contains(node.port)) {
        node.order = {0, 2, 1};
      }
    }
    layout::assign_orders(graph);
    result.added = layout::rewrite(graph, model, large);
  }
  model.mutable_graph()->clear_value_info();
  return result;
}

}  // namespace octet::io
