// Initializers of a rewritten graph.
#include <algorithm>
#include <cstring>
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
  const Arrangement arrangement = arrangement_of(moves);
  const auto large = large_.find(root);
  const bool is_plain =
      large != large_.end() && large->second.stored == Arrangement();
  const Tensor given = is_plain ? large->second.value : value_of(root);
  const Shape shape = arrangement.shape_of(given.shape());
  if (large != large_.end()) {
    large_.emplace(added, LargeConstant{given, arrangement});
  } else {
    const Tensor value = arrangement.apply(given);
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

std::string Rewriter::floats(const std::string& name,
                             const std::vector<float>& values,
                             const std::vector<int64_t>& sizes) {
  onnx::TensorProto& tensor = *proto_.add_initializer();
  tensor.set_name(value_names_.add(name + "/constant"));
  tensor.set_data_type(onnx::TensorProto::FLOAT);
  tensor.mutable_dims()->Assign(sizes.begin(), sizes.end());
  tensor.set_raw_data(values.data(), values.size() * sizeof(float));
  return tensor.name();
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
