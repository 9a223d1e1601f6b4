// Transposes and reshapes between a value and its consumers.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "onnx/graph/attributes.h"
#include "rewriter.h"

namespace octet::io::layout {

std::string key_of(const Rearrangement& moves) {
  std::string text;
  for (const Dim& dim : moves.split) {
    text += fmt::format("{}{},", dim.batch ? "N" : "", dim.factor);
  }
  return fmt::format("{};{}", text, fmt::join(moves.order, ","));
}

std::vector<int64_t> sizes_of(const std::vector<Dim>& dims) {
  std::vector<int64_t> sizes;
  for (const Dim& dim : dims) sizes.push_back(dim.batch ? -1 : dim.factor);
  return sizes;
}

bool Rewriter::is_permuted(const Node& node, size_t input) const {
  if (!is_identity(graph_.stored_order(node.inputs[input].root))) return true;
  if (is_identity(node.order)) return false;
  return std::ranges::find(node.rule->inputs, static_cast<int>(input)) !=
         node.rule->inputs.end();
}

/// Whether the original nodes compute the operand with no more Transposes than
/// needed.
bool Rewriter::keeps_nodes(const Node& node, size_t input) {
  const Operand& operand = node.inputs[input];
  if (operand.movements.empty() || is_permuted(node, input) ||
      graph_.value(operand.root).is_constant) {
    return false;
  }
  std::vector<std::string> transposes;  // their outputs
  for (const int index : operand.movements) {
    const onnx::NodeProto& proto = graph_.proto().node(index);
    if (proto.op_type() == "Transpose") transposes.push_back(proto.output(0));
  }
  const std::optional<AxisLayout> layout = graph_.layout(node, input);
  if (!layout) return false;
  if (transposes.empty()) return true;
  if (layout->in_order() || transposes.size() > 1 || block_move(*layout)) {
    return false;
  }
  const std::string key = operand.root + ":" + key_of(layout->rearrangement());
  const auto found = transposed_.emplace(key, transposes[0]).first;
  if (found->second != transposes[0]) return false;
  kept_transposes_.emplace(transposes[0], &operand);
  transposed_dims_.emplace(transposes[0], *graph_.value(transposes[0]).dims);
  return true;
}

void Rewriter::choose_kept_nodes() {
  for (const Node& node : graph_.nodes()) {
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

/// Adds the original rearrangement nodes of an operand. Returns their output.
std::string Rewriter::keep(const Operand& operand) {
  for (const int index : operand.movements) {
    if (!emitted_.insert(index).second) continue;
    onnx::NodeProto node = graph_.proto().node(index);
    *node.mutable_input(0) = stored_name(node.input(0));
    nodes_.push_back(std::move(node));
  }
  return stored_name(graph_.proto().node(operand.movements.back()).output(0));
}

std::string Rewriter::rearranged(const std::string& root,
                                 const Rearrangement& moves,
                                 const AxisLayout& layout, const Place& place) {
  std::string value = stored_name(root);
  if (const std::optional<BlockMove> move = block_move(layout)) {
    return move_blocks(value, *move, place);
  }
  const std::string key = root + ":" + key_of(moves);
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

/// Uses the sizes of the original Reshape if they fit: importers may recognize
/// their form.
std::string Rewriter::final_reshape(const std::string& value,
                                    const std::vector<Dim>& from,
                                    const std::vector<Dim>& to,
                                    const Place& place) {
  const std::string& name = place.base.empty() ? place.consumer : place.base;
  if (place.reshape == nullptr ||
      graph_.value(place.reshape->output(0)).dims != to) {
    return reshape(value, to, name, place);
  }
  const std::string& sizes = place.reshape->input(1);
  const std::vector<int64_t> original = integers_of(graph_.constant(sizes));
  for (size_t i = 0; i < original.size(); ++i) {
    if (original[i] != 0) continue;  // copies a size
    if (i >= from.size() || from[i] != to[i]) {
      return reshape(value, to, name, place);
    }
  }
  return reshape_by(value, sizes, node_names_.add(name), place);
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
  const Rearrangement moves = layout.rearrangement();
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
  nodes_.push_back(std::move(node));
  return output;
}

}  // namespace octet::io::layout
