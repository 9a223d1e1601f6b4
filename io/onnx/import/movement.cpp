// Operators that join, slice, repeat or pass on values.
#include <algorithm>
#include <cstring>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/attention.h>
#include <octet/layers/ops.h>
#include <octet/layers/regularization.h>
#include <octet/runtime/error.h>

#include "converters.h"
#include "gather.h"
#include "inputs.h"
#include "join.h"
#include "onnx/graph/tensors.h"

namespace octet::io::importing {
namespace {

bool is_true(const Conversion& c, const Tensor& value) {
  if (value.dtype() != DType::boolean || value.size() != 1) {
    c.refuse("input must be true or false");
  }
  return value.data<bool>()[0];
}

/// Returns the first row if all rows are equal; otherwise an empty tensor.
Tensor one_row(const Tensor& value) {
  const Tensor first = value.slice(0, 1);
  const auto row = static_cast<size_t>(first.bytes());
  const auto* bytes = static_cast<const char*>(value.raw());
  for (int64_t i = 1; i < value.shape()[0]; ++i) {
    if (std::memcmp(bytes, bytes + static_cast<size_t>(i) * row, row) != 0) {
      return {};
    }
  }
  return first;
}

/// Whether an integer type holds all values of another. int64 values are
/// indices and counts: float32 represents them up to 2^24, as int32 does.
bool holds_all(std::string_view type, std::string_view from) {
  if (type == "int64" || type == "int32") return !from.empty();
  return type == from || (type == "int16" && from.ends_with("int8")) ||
         (type == "uint16" && from == "uint8");
}

/// Whether all consumers of a value, also behind reshapes, select rows of a
/// constant with it: Embedding layers reject values that are not whole.
bool indexes_tables(const OnnxGraph& graph, const std::string& value) {
  const auto consumers = graph.consumers(value);
  return !consumers.empty() && !graph.is_output(value) &&
         std::ranges::all_of(consumers, [&](const OnnxNode* node) {
           if (is_op(*node, "Gather")) {
             return node->proto.input(1) == value &&
                    graph.constant(node->proto.input(0)) != nullptr;
           }
           return is_one_of(node->proto.op_type(),
                            "Cast Flatten Reshape Squeeze Unsqueeze") &&
                  node->proto.input(0) == value &&
                  indexes_tables(graph, node->proto.output(0));
         });
}

/// A constant token before all others.
bool convert_class_token(Conversion& c, int64_t axis) {
  if (c.inputs() != 2 || !c.is_constant(0) || c.is_constant(1)) return false;
  const Tensor token = c.floats(0);
  const ImportedValue& x = c.value(1);
  const Shape& shape = token.shape();
  const int64_t batch = fixed_batch(c.graph());
  if (x.rank() != 3 || !x.samples_lead() || c.axis_of(axis, 3) != 1 ||
      shape.rank() != 3 || shape[1] != 1 || shape[2] != x.dims()[2].factor ||
      (shape[0] != 1 && shape[0] != batch)) {
    return false;
  }
  const Tensor row = one_row(token);
  if (row.empty()) return false;
  const SymbolicTensor y = c.add(ClassToken(), {c.operand(1, file_order(3))},
                                 {{"class_token", row}});
  c.set_output(value_of(y, file_order(3)));
  return true;
}

}  // namespace

// Values are float32 whatever the file's type is, so a Cast that preserves them
// is nothing. One that rounds is part of the output if nothing else consumes
// it.
void convert_cast(Conversion& c) {
  const auto to = static_cast<int32_t>(c.integer("to", 0));
  if (to == onnx::TensorProto::BOOL && !c.is_truth(0)) {
    c.set_elementwise(0,
                      [](const SymbolicTensor& x) { return not_equal(x, 0); });
    return c.mark_truth();
  }
  const std::string from = c.integer_type(0);
  const bool truth = c.is_truth(0);
  const bool is_float =
      to == onnx::TensorProto::FLOAT || to == onnx::TensorProto::FLOAT16 ||
      to == onnx::TensorProto::BFLOAT16 || to == onnx::TensorProto::DOUBLE;
  const bool is_integer = !is_float && to != onnx::TensorProto::BOOL;
  const bool is_output =
      c.graph().is_output(c.output()) && c.graph().uses(c.output()) == 1;
  if (is_integer && !is_output && !truth && !holds_all(type_name(to), from) &&
      !indexes_tables(c.graph(), c.output())) {
    c.refuse(
        fmt::format("to must be a type of floats or bool, or an integer "
                    "type that holds all values of the input, got {}",
                    type_name(to)));
  }
  c.report(is_integer && is_output ? "type of the output" : "nothing to do");
  c.set_output(c.value(0));
  if (truth && !is_integer) c.mark_truth();
  if (is_integer) c.mark_integers(type_name(to));
}

void convert_concat(Conversion& c) {
  const int64_t given = c.integer("axis", 1);
  if (convert_class_token(c, given)) return;
  concatenate(c, all_inputs(c), given);
}

void convert_dropout(Conversion& c) {
  if (c.proto().output_size() > 1 && !c.proto().output(1).empty() &&
      c.graph().uses(c.proto().output(1)) > 0) {
    c.refuse("the mask output is not supported");
  }
  const bool trains = c.opset() < 7 ? c.integer("is_test", 0) == 0
                                    : c.has(2) && is_true(c, c.constant(2));
  if (trains) c.refuse("training_mode must be false");
  const float rate = c.has(1) ? c.scalar(1) : c.number("ratio", 0.5f);
  c.set_elementwise(0, Dropout({.rate = rate}));
}

/// Whether the input is a constant of equal numbers that has the samples of a
/// fixed batch already, as PyTorch's states of zero: sets the output to it.
static bool expand_samples(Conversion& c) {
  const Tensor& value = c.constant(0);
  const Dims wanted = c.sizes(1);
  const auto batch = std::ranges::find(wanted, true, &Dim::batch);
  if (value.dtype() != DType::f32 || value.size() == 0 ||
      batch == wanted.end() ||
      value.shape().rank() != static_cast<int>(wanted.size())) {
    return false;
  }
  const auto axis = static_cast<int>(batch - wanted.begin());
  for (int i = 0; i < value.shape().rank(); ++i) {
    const int64_t times = i == axis ? fixed_batch(c.graph()) : 1;
    if (value.shape()[i] != wanted[static_cast<size_t>(i)].factor * times) {
      return false;
    }
  }
  const float number = value.f32()[0];
  if (std::ranges::any_of(value.f32(), [&](float v) { return v != number; })) {
    return false;
  }
  c.graph().set_constant(
      c.output(),
      {.value = Tensor::full(value.shape().with(axis, batch->factor), number),
       .source = c.output(),
       .samples_axis = axis});
  c.report("constant");
  return true;
}

// Repeats axes of size 1 to the requested size.
void convert_expand(Conversion& c) {
  if (c.is_constant(0)) {
    if (expand_samples(c)) return;
    c.refuse(
        "a constant must be repeated for each sample along an axis of size 1");
  }
  const ImportedValue& x = c.value(0);
  const Dims dims = x.dims();
  const Dims wanted = c.sizes(1);
  if (wanted.size() > dims.size()) {
    c.refuse(fmt::format("shape must have at most the axes of {}, got {}",
                         x.text(), wanted.size()));
  }
  Sizes times(dims.size(), 1);
  const size_t first = dims.size() - wanted.size();
  for (size_t i = first; i < dims.size(); ++i) {
    const Dim& size = wanted[i - first];
    if (size.is_one() || size == dims[i]) continue;
    if (!dims[i].is_one() || size.batch) {
      c.refuse(fmt::format("{} does not broadcast to {}", x.text(),
                           text_of(wanted)));
    }
    times[i] = size.factor;
  }
  repeat(c, times);
}

void convert_identity(Conversion& c) {
  if (c.is_constant(0)) {
    c.graph().set_constant(c.output(), *c.graph().constant(c.proto().input(0)));
    return c.report("constant");
  }
  c.report("nothing to do");
  c.set_output(c.value(0));
}

}  // namespace octet::io::importing
