// Transposes and reshapes between a value and its consumers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/graph/attributes.h"
#include "onnx/graph/qdq.h"
#include "rewriter.h"

namespace octet::io::layout {

std::string key_of(const Rearrangement& moves) {
  std::string text;
  for (const Dim& dim : moves.split) {
    text += fmt::format("{}{},", dim.batch ? "N" : "", dim.factor);
  }
  return fmt::format("{};{}", text, fmt::join(moves.order, ","));
}

Rearrangement moves_of(const AxisLayout& layout) {
  Rearrangement moves = layout.rearrangement();
  const std::optional<Order> order = layout.stored_order();
  if (moves.order.empty() || !order ||
      layout.transposed(*order).dims() != layout.stored()) {
    return moves;
  }
  moves = {.split = {}, .order = *order, .joined = {}};
  for (size_t i = 0; i < order->size(); ++i) {
    moves.order[static_cast<size_t>((*order)[i])] = static_cast<int>(i);
  }
  return moves;
}

std::vector<int64_t> sizes_of(const std::vector<Dim>& dims) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) sizes.push_back(dim.batch ? -1 : dim.factor);
  return sizes;
}

/// Returns a key for the value that an operand rearranges.
static std::string source_of(const LayoutOperand& operand) {
  return fmt::format(
      "{}:{}:", operand.root,
      fmt::join(std::span(operand.quantizers).first(operand.leading), ","));
}

bool Rewriter::is_permuted(const LayoutNode& node, size_t input) const {
  if (!is_identity(graph_.stored_order(node.inputs[input].root))) return true;
  if (is_identity(node.order)) return false;
  return std::ranges::find(node.rule->inputs, static_cast<int>(input)) !=
         node.rule->inputs.end();
}

/// Whether the original nodes compute the operand with no more Transposes than
/// needed.
bool Rewriter::keeps_nodes(const LayoutNode& node, size_t input) {
  const LayoutOperand& operand = node.inputs[input];
  if (operand.movements.empty() || is_permuted(node, input) ||
      graph_.value(operand.root).is_constant) {
    return false;
  }
  std::vector<std::string> transposes;  // their outputs
  for (const int index : operand.movements) {
    const onnx::NodeProto& proto = graph_.proto().node(index);
    if (proto.op_type() != "Transpose") continue;
    transposes.push_back(proto.output(0));
    // The last Q/DQ belong next to their consumer.
    const auto last = std::span(operand.quantizers).subspan(operand.leading);
    if (!last.empty() && last.front() < index) return false;
  }
  const std::optional<AxisLayout> layout = graph_.layout(node, input);
  if (!layout) return false;
  if (transposes.empty()) return true;
  // Sizes are unknown if the batch is not the first axis, as before an LSTM.
  const auto& dims = graph_.value(transposes[0]).dims;
  if (layout->in_order() || transposes.size() > 1 || block_move(*layout) ||
      !dims) {
    return false;
  }
  const std::string key = source_of(operand) + key_of(moves_of(*layout));
  const auto found = transposed_.emplace(key, transposes[0]).first;
  if (found->second != transposes[0]) return false;
  kept_transposes_.emplace(transposes[0], &operand);
  transposed_dims_.emplace(transposes[0], *dims);
  return true;
}

void Rewriter::choose_kept_nodes() {
  for (const LayoutNode& node : graph_.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!keeps_nodes(node, i)) continue;
      kept_.insert(&node.inputs[i]);
      for (const int index : node.inputs[i].movements) {
        const onnx::NodeProto& proto = graph_.proto().node(index);
        node_names_.insert(proto.name());
        value_names_.insert(proto.output(0));
      }
    }
  }
}

/// Adds the original rearrangements and Q/DQ of an operand. Returns their
/// output.
std::string Rewriter::keep(const LayoutOperand& operand) {
  std::vector<int> nodes = operand.movements;
  nodes.insert(nodes.end(), operand.quantizers.begin(),
               operand.quantizers.end());
  std::ranges::sort(nodes);
  std::string value = stored_name(operand.root);
  for (const int index : nodes) {
    onnx::NodeProto node = graph_.proto().node(index);
    if (is_quantize(node) || is_dequantize(node)) {
      value = quantized(index, value, std::nullopt);
      continue;
    }
    *node.mutable_input(0) = value;
    value = stored_name(node.output(0));
    if (emitted_.insert(index).second) push(std::move(node), index);
  }
  return value;
}

std::string Rewriter::quantized(std::span<const int> quantizers,
                                std::string value,
                                std::optional<int> channels) {
  for (const int index : quantizers) value = quantized(index, value, channels);
  return value;
}

std::string Rewriter::quantized(int index, const std::string& value,
                                std::optional<int> channels) {
  std::string& output = quantized_[fmt::format("{}:{}:{}", value, index,
                                               channels ? *channels : -1)];
  if (!output.empty()) return output;
  onnx::NodeProto node = graph_.proto().node(index);
  const bool is_copy = !emitted_.insert(index).second;
  // add_output() names outputs of the graph.
  if (is_copy || is_port(node.output(0))) {
    node.set_output(0, value_names_.add(node.output(0)));
  }
  if (is_copy) {
    const std::string original = node.name();
    node.set_name(node_names_.add(original));
    added_[node.name()] = original;
  }
  node.set_input(0, value);
  if (channels && find_attribute(node, "axis") != nullptr) {
    set_integer(node, "axis", *channels);
  }
  output = node.output(0);
  const auto producer = places_.find(value);
  push(std::move(node),
       producer == places_.end() ? index : std::max(index, producer->second));
  return output;
}

std::string Rewriter::rearranged(const LayoutOperand& operand,
                                 const AxisLayout& layout, const Place& place) {
  const Rearrangement moves = moves_of(layout);
  const auto leading = std::span(operand.quantizers).first(operand.leading);
  std::string value = quantized(leading, stored_name(operand.root));
  if (const std::optional<BlockMove> move = block_move(layout)) {
    return move_blocks(value, *move, place);
  }
  const std::string key = source_of(operand) + key_of(moves);
  std::vector<Dim> dims = layout.stored();
  if (!moves.order.empty()) {
    value = transposed(value, key, layout, place);
    dims = transposed_dims_.at(value);
  }
  const std::vector<Dim> wanted = layout.dims();
  if (dims == wanted) return value;
  std::string& result =
      reshaped_[fmt::format("{}:{}", value, fmt::join(sizes_of(wanted), ","))];
  if (result.empty()) result = final_reshape(value, dims, wanted, place);
  return result;
}

/// Keeps the form of the original reshape if it fits: importers may recognize
/// it.
std::string Rewriter::final_reshape(const std::string& value,
                                    const std::vector<Dim>& from,
                                    const std::vector<Dim>& to,
                                    const Place& place) {
  const std::string& name = place.base.empty() ? place.consumer : place.base;
  if (place.reshape == nullptr) return reshape(value, to, name, place);
  const std::string& op = place.reshape->op_type();
  const bool same_sizes = graph_.value(place.reshape->output(0)).dims == to;
  if (op == "Flatten" && same_sizes && !from.empty() && from[0] == to[0]) {
    onnx::NodeProto node = *place.reshape;
    node.set_name(node_names_.add(name));
    node.clear_output();
    *node.mutable_input(0) = value;
    return add_movement(std::move(node), place);
  }
  if (op != "Reshape") return reshape(value, to, name, place);
  const std::string& sizes = place.reshape->input(1);
  const std::vector<int64_t> original = integers_of(graph_.constant(sizes));
  bool fits = same_sizes;
  for (size_t i = 0; fits && i < original.size(); ++i) {
    if (original[i] != 0) continue;  // copies a size
    fits = i < from.size() && from[i] == to[i];
  }
  if (fits) return reshape_by(value, sizes, node_names_.add(name), place);
  const std::string result = reshape(value, to, name, place);
  replacements_.emplace_back(nodes_.back().input(1), sizes);
  return result;
}

/// Returns the output of the rearrangement's Transpose, before the final
/// reshape. Operands with the same `key` share it.
std::string Rewriter::transposed(const std::string& value,
                                 const std::string& key,
                                 const AxisLayout& layout, const Place& place) {
  std::string& result = transposed_[key];
  const auto kept = kept_transposes_.find(result);
  if (kept != kept_transposes_.end()) (void)keep(*kept->second);  // emit it
  if (!result.empty()) return result;
  const Rearrangement moves = moves_of(layout);
  const std::string base = place.base.empty() ? place.consumer : place.base;
  const std::vector<Dim>& split =
      moves.split.empty() ? layout.stored() : moves.split;
  onnx::NodeProto node;
  node.add_input(moves.split.empty()
                     ? value
                     : reshape(value, split, base + "/split", place));
  node.set_op_type("Transpose");
  node.set_name(node_names_.add(base + "/transpose"));
  set_integers(node, "perm", {moves.order.begin(), moves.order.end()});
  result = add_movement(std::move(node), place);
  std::vector<Dim>& dims = transposed_dims_[result];
  for (const int axis : moves.order) {
    dims.push_back(split[static_cast<size_t>(axis)]);
  }
  return result;
}

std::string Rewriter::move_blocks(const std::string& value,
                                  const BlockMove& move, const Place& place) {
  std::string& result = reshaped_[fmt::format("{}:{}{}{}", value, move.op,
                                              move.block, move.mode)];
  if (!result.empty()) return result;
  onnx::NodeProto node;
  node.set_op_type(move.op);
  node.set_name(
      node_names_.add(place.base.empty() ? place.consumer : place.base));
  node.add_input(value);
  set_integer(node, "blocksize", move.block);
  if (!move.mode.empty()) set_text(node, "mode", move.mode.c_str());
  result = add_movement(std::move(node), place);
  return result;
}

std::string Rewriter::reshape(const std::string& value,
                              const std::vector<Dim>& dims,
                              const std::string& name, const Place& place) {
  const std::string node = node_names_.add(name);
  return reshape_by(value, integers(node + "/shape", sizes_of(dims)), node,
                    place);
}

std::string Rewriter::reshape_by(const std::string& value,
                                 const std::string& sizes,
                                 const std::string& name, const Place& place) {
  onnx::NodeProto node;
  node.set_op_type("Reshape");
  node.set_name(name);
  node.add_input(value);
  node.add_input(sizes);
  return add_movement(std::move(node), place);
}

std::string Rewriter::add_movement(onnx::NodeProto node, const Place& place) {
  const std::string output = value_names_.add(node.name() + "/output");
  node.add_output(output);
  added_[node.name()] = place.consumer;
  push(std::move(node), place.index);
  return output;
}

}  // namespace octet::io::layout
