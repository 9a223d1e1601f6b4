#include "node.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/tensors.h"

namespace octet::io::run {

bool NodeContext::has_input(size_t i) const {
  return i < inputs_.size() && !inputs_[i].empty();
}

const Tensor& NodeContext::input(size_t i) const {
  if (!has_input(i)) {
    refuse(fmt::format("input {} is missing", i));
  }
  return inputs_[i];
}

Sizes NodeContext::integers_of(size_t i) const {
  const Tensor& list = input(i);
  if (list.shape().rank() > 1) {
    refuse(fmt::format("input {} must be a list, got {}", i,
                       list.shape().to_string()));
  }
  return visit<int64_t, int32_t>(*this, list.dtype(), [&]<class T>(T) -> Sizes {
    const auto values = list.data<T>();
    return {values.begin(), values.end()};
  });
}

size_t NodeContext::output_count() const {
  return static_cast<size_t>(node_.output_size());
}

bool NodeContext::wants(size_t output) const {
  return output < output_count() &&
         !node_.output(static_cast<int>(output)).empty();
}

bool NodeContext::has_attribute(const std::string& name) const {
  return find_attribute(node_, name) != nullptr;
}

int64_t NodeContext::integer(const std::string& name, int64_t otherwise) const {
  const auto* attribute = find_attribute(node_, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

float NodeContext::number(const std::string& name, float otherwise) const {
  const auto* attribute = find_attribute(node_, name);
  return attribute == nullptr ? otherwise : attribute->f();
}

std::string NodeContext::text(const std::string& name,
                              const std::string& otherwise) const {
  const auto* attribute = find_attribute(node_, name);
  return attribute == nullptr ? otherwise : attribute->s();
}

Sizes NodeContext::integers(const std::string& name,
                            const Sizes& otherwise) const {
  const auto* attribute = find_attribute(node_, name);
  if (attribute == nullptr) return otherwise;
  return {attribute->ints().begin(), attribute->ints().end()};
}

Sizes NodeContext::integers_since(int64_t opset, size_t i,
                                  const std::string& name) const {
  if (opset_ < opset) return integers(name);
  return has_input(i) ? integers_of(i) : Sizes();
}

Sizes NodeContext::axes() const {
  return integers_since(axes_as_input_since(node_.op_type()), 1, "axes");
}

int NodeContext::axis(int64_t axis, int64_t rank) const {
  if (axis < -rank || axis >= rank) {
    refuse(fmt::format("axis must be from {} to {}, got {}", -rank, rank - 1,
                       axis));
  }
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

void NodeContext::check_size(const Sizes& dims, DType type) const {
  if (dims.size() > Shape::kMaxRank) {
    refuse(fmt::format("must have at most {} dimensions, got {}",
                       static_cast<int>(Shape::kMaxRank), dims.size()));
  }
  // A dimension of 0 does not excuse too large ones.
  int64_t room = kMostBytes / size_of(type);
  for (const int64_t dim : dims) {
    if (dim < 0) {
      refuse(fmt::format("dimensions must be >= 0, got {}", dims_text(dims)));
    }
    room /= std::max<int64_t>(dim, 1);
  }
  if (room == 0) {
    throw FormatError("size_limit", describe(reported_),
                      fmt::format("values must take at most 2 GiB, got {} of "
                                  "{}",
                                  dims_text(dims), type_name(type)));
  }
}

Tensor NodeContext::make(const Sizes& dims, DType type) const {
  check_size(dims, type);
  check_time();
  const Shape shape{std::span(dims)};
  if (!budget_.take(shape.size() * size_of(type))) {
    throw FormatError(
        "memory_limit", describe(reported_),
        fmt::format("values exceed {} MiB. Hint: run fewer "
                    "samples at a time, or raise FileLimits.memory_limit "
                    "(--memory-limit)",
                    budget_.limits().memory_limit >> 20));
  }
  return Tensor(shape, type);
}

void NodeContext::unmake(const Tensor& made) const {
  budget_.give_back(made.bytes());
}

void NodeContext::check_time() const {
  if (!budget_.is_late()) return;
  throw FormatError(
      "time_limit", describe(reported_),
      fmt::format("run exceeds {} s. Hint: run fewer samples at a "
                  "time, or raise FileLimits.time_limit ("
                  "--time-limit)",
                  budget_.limits().time_limit));
}

Tensor NodeContext::reshaped(const Tensor& x, const Sizes& dims) const {
  check_size(dims, x.dtype());
  const Shape shape{std::span(dims)};
  if (shape.size() != x.size()) {
    refuse(fmt::format("{} must have {} elements, got {}", dims_text(dims),
                       shape.size(), x.shape().to_string()));
  }
  return x.reshaped(shape);
}

void NodeContext::refuse(const std::string& problem) const {
  throw FormatError("invalid_graph", describe(reported_), problem);
}

void NodeContext::refuse_type(DType type) const {
  throw FormatError(
      "unsupported_type", describe(reported_),
      fmt::format("does not accept element type {}", type_name(type)));
}

void NodeContext::unsupported(const std::string& problem) const {
  throw UnsupportedError("unsupported_operator", describe(reported_), problem);
}

Sizes sizes_of(const Tensor& tensor) {
  const auto dims = tensor.shape().dims();
  return {dims.begin(), dims.end()};
}

}  // namespace octet::io::run
