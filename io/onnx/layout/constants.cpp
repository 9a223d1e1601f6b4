// Initializers of a rewritten graph.
#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/error.h>

#include "rewriter.h"

namespace octet::io::layout {
namespace {

Shape shape_of(const std::vector<Dim>& dims) {
  return Shape(std::span<const int64_t>(sizes_of(dims)));
}

Arrangement arrangement_of(const Rearrangement& moves) {
  Arrangement result{.order = moves.order};
  if (!moves.split.empty()) result.split = shape_of(moves.split);
  if (!moves.joined.empty()) result.joined = shape_of(moves.joined);
  return result;
}

std::vector<Dim> dims_of(const Shape& shape) {
  std::vector<Dim> dims;
  for (const int64_t size : shape.dims()) dims.push_back({size, false});
  return dims;
}

/// Applies a rearrangement to a layout; nothing if a reshape does not fit.
std::optional<AxisLayout> after(std::optional<AxisLayout> layout,
                                const Rearrangement& moves) {
  if (layout && !moves.split.empty()) layout = layout->reshaped(moves.split);
  if (layout && !moves.order.empty()) layout = layout->transposed(moves.order);
  if (layout && !moves.joined.empty()) layout = layout->reshaped(moves.joined);
  return layout;
}

/// Composes the arrangement in the file with further moves.
LargeConstant after(const LargeConstant& large, const Rearrangement& moves) {
  const Arrangement& stored = large.stored;
  Rearrangement first{.split = {}, .order = stored.order, .joined = {}};
  if (stored.split.rank() > 0) first.split = dims_of(stored.split);
  if (stored.joined.rank() > 0) first.joined = dims_of(stored.joined);
  const auto layout =
      after(after(AxisLayout(dims_of(large.value.shape())), first), moves);
  if (layout) return {large.value, arrangement_of(layout->rearrangement())};
  return {stored.apply(large.value), arrangement_of(moves)};
}

DType dtype_of(const onnx::TensorProto& tensor) {
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      return DType::f32;
    case onnx::TensorProto::INT8:
      return DType::i8;
    case onnx::TensorProto::UINT8:
      return DType::u8;
    case onnx::TensorProto::INT64:
      return DType::i64;
    default:
      throw InternalError("internal",
                          fmt::format("initializer '{}'", tensor.name()),
                          "has a type that export does not write");
  }
}

}  // namespace

std::unordered_set<std::string> consumed_in(const onnx::GraphProto& graph) {
  std::unordered_set<std::string> names;
  for (const auto& node : graph.node()) {
    names.insert(node.input().begin(), node.input().end());
  }
  return names;
}

std::string Rewriter::integers(const std::string& name,
                               const std::vector<int64_t>& values) {
  std::string key = fmt::format("{}", fmt::join(values, ","));
  std::string& added = constants_["i64:" + name + ":" + key];
  if (!added.empty()) return added;
  onnx::TensorProto& tensor = *proto_.add_initializer();
  added = value_names_.add(name);
  tensor.set_name(added);
  tensor.set_data_type(onnx::TensorProto::INT64);
  tensor.add_dims(static_cast<int64_t>(values.size()));
  tensor.set_raw_data(values.data(), values.size() * sizeof(int64_t));
  return added;
}

std::string Rewriter::constant(const std::string& root,
                               const Rearrangement& moves) {
  if (moves == Rearrangement()) return root;
  std::string& added =
      constants_[root + ":" + key_of(moves) + ":" +
                 fmt::format("{}", fmt::join(sizes_of(moves.joined), ","))];
  if (!added.empty()) return added;
  onnx::TensorProto tensor = graph_.constant(root);
  added = value_names_.add(root + "/transposed");
  tensor.set_name(added);
  replacements_.emplace_back(added, root);
  const auto large = large_.find(root);
  Shape shape;
  if (large != large_.end()) {
    LargeConstant rearranged = after(large->second, moves);
    shape = rearranged.stored.shape_of(rearranged.value.shape());
    large_.emplace(added, std::move(rearranged));
  } else {
    const Tensor value = arrangement_of(moves).apply(value_of(root));
    shape = value.shape();
    tensor.set_raw_data(value.raw(), static_cast<size_t>(value.bytes()));
  }
  tensor.mutable_dims()->Assign(shape.dims().begin(), shape.dims().end());
  *proto_.add_initializer() = std::move(tensor);
  return added;
}

Tensor Rewriter::value_of(const std::string& constant) const {
  const auto large = large_.find(constant);
  if (large != large_.end()) {
    return large->second.stored.apply(large->second.value);
  }
  const onnx::TensorProto& tensor = graph_.constant(constant);
  const std::vector<int64_t> dims(tensor.dims().begin(), tensor.dims().end());
  Tensor value = Tensor::zeros(Shape(dims), dtype_of(tensor));
  std::memcpy(value.raw(), tensor.raw_data().data(), tensor.raw_data().size());
  return value;
}

std::string Rewriter::constant_of(const LayoutOperand& operand,
                                  const AxisLayout& layout) {
  const std::vector<Dim>& own = *graph_.value(operand.root).dims;
  // A scalar broadcasts in any order.
  if (own.empty()) return operand.root;
  std::vector<Dim> dims = layout.dims();
  // Leading axes of size 1 that were added for broadcasting.
  while (operand.steps.size() > operand.movements.size() &&
         dims.size() > own.size() && dims.front().is_one()) {
    dims.erase(dims.begin());
  }
  return constant(operand.root, layout.reshaped(dims)->rearrangement());
}

/// Moves the names and positions of replaced constants to the new constants.
void Rewriter::replace_constants() {
  const std::unordered_set<std::string> consumed = consumed_in(proto_);
  std::unordered_map<std::string, int> places;
  for (int i = 0; i < proto_.initializer_size(); ++i) {
    places[proto_.initializer(i).name()] = i;
  }
  std::unordered_map<std::string, std::string> names;  // of new constants
  std::unordered_set<std::string> taken;
  for (const auto& [added, original] : replacements_) {
    if (consumed.contains(original) || names.contains(added)) continue;
    if (!places.contains(original) || !taken.insert(original).second) continue;
    names[added] = original;
    onnx::TensorProto& tensor = *proto_.mutable_initializer(places[original]);
    tensor.Swap(proto_.mutable_initializer(places[added]));
    proto_.mutable_initializer(places[added])->set_name(added);
    tensor.set_name(original);
    large_.erase(original);
    if (auto large = large_.extract(added)) {
      large.key() = original;
      large_.insert(std::move(large));
    }
  }
  for (auto& node : *proto_.mutable_node()) {
    for (auto& input : *node.mutable_input()) {
      const auto name = names.find(input);
      if (name != names.end()) input = name->second;
    }
  }
  auto& tensors = *proto_.mutable_initializer();
  tensors.erase(std::remove_if(tensors.begin(), tensors.end(),
                               [&](const onnx::TensorProto& tensor) {
                                 return names.contains(tensor.name());
                               }),
                tensors.end());
}

void Rewriter::drop_unused_constants(
    const std::unordered_set<std::string>& consumed_before) {
  const std::unordered_set<std::string> consumed = consumed_in(proto_);
  auto& tensors = *proto_.mutable_initializer();
  const auto unused = std::remove_if(
      tensors.begin(), tensors.end(), [&](const onnx::TensorProto& tensor) {
        const bool drop = !consumed.contains(tensor.name()) &&
                          consumed_before.contains(tensor.name());
        if (drop) large_.erase(tensor.name());
        return drop;
      });
  tensors.erase(unused, tensors.end());
}

}  // namespace octet::io::layout
