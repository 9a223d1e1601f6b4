// Layers that combine several tensors.
#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

// Inserts axes of size 1 after the batch, as the layers do.
Value of_rank(Lowering& call, const Value& x, int rank, size_t index) {
  if (x.shape.rank() == rank) return x;
  std::vector<int64_t> sizes{x.shape[0]};
  sizes.resize(static_cast<size_t>(rank - x.shape.rank()) + 1, 1);
  for (int axis = 1; axis < x.shape.rank(); ++axis) {
    sizes.push_back(x.shape[axis]);
  }
  return call.reshaped(x, Shape(std::span<const int64_t>(sizes)),
                       fmt::format("input_{}", index));
}

std::vector<Value> operands(Lowering& call) {
  const int rank = call.shape().rank();
  std::vector<Value> result;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    result.push_back(of_rank(call, call.inputs[i], rank, i));
  }
  return result;
}

template <class Options>
Value arithmetic(Lowering& call, schema::Op op) {
  const std::vector<Value> x = operands(call);
  if (x.size() != 2) {
    throw UnsupportedError(
        "unsupported_layer", call.layer.describe(),
        fmt::format("the operator takes 2 inputs, got {}", x.size()));
  }
  const Value y = call.add_output();
  Options options;
  options.activation = call.fused;
  if constexpr (requires { options.pot_scale_int16; }) {
    options.pot_scale_int16 = false;  // scales of any value
  }
  const int version = x[0].quant ? 2 : 1;
  call.file.add_operator(op, version, {x[0].tensor, x[1].tensor}, {y.tensor},
                         std::move(options));
  return y;
}

// MAXIMUM and MINIMUM of two inputs at a time; all have the scale of the
// output.
Value extremum(Lowering& call, schema::Op op) {
  std::vector<Value> x = operands(call);
  for (size_t i = 0; i < x.size(); ++i) {
    if (!call.quant) continue;
    x[i] =
        requantized(call, x[i], *call.quant, fmt::format("requantized_{}", i));
  }
  Value y = x[0];
  for (size_t i = 1; i < x.size(); ++i) {
    const bool last = i + 1 == x.size();
    const Value next = last ? call.add_output()
                            : call.add_part(fmt::format("of_{}", i + 1),
                                            call.shape(), call.quant);
    call.file.add_operator(op, call.quant ? 2 : 1, {y.tensor, x[i].tensor},
                           {next.tensor}, schema::MaximumMinimumOptionsT());
    y = next;
  }
  return y;
}

}  // namespace

Value requantized(Lowering& call, const Value& x, const Quant& quant,
                  std::string_view part) {
  if (x.quant == quant) return x;
  const Value y = part.empty() ? call.file.add_value(call.name, x.shape, quant)
                               : call.add_part(part, x.shape, quant);
  call.file.add_operator(schema::Op::QUANTIZE, x.quant ? 2 : 1, {x.tensor},
                         {y.tensor}, schema::QuantizeOptionsT());
  return y;
}

Value lower_merge(Lowering& call) {
  const std::string name = call.layer.class_name();
  if (name == "Add") {
    return arithmetic<schema::AddOptionsT>(call, schema::Op::ADD);
  }
  if (name == "Subtract") {
    return arithmetic<schema::SubOptionsT>(call, schema::Op::SUB);
  }
  if (name == "Multiply") {
    return arithmetic<schema::MulOptionsT>(call, schema::Op::MUL);
  }
  return extremum(
      call, name == "Maximum" ? schema::Op::MAXIMUM : schema::Op::MINIMUM);
}

Value lower_concatenate(Lowering& call) {
  std::vector<int> tensors;
  for (size_t i = 0; i < call.inputs.size(); ++i) {
    const Value x = call.quant ? requantized(call, call.inputs[i], *call.quant,
                                             fmt::format("requantized_{}", i))
                               : call.inputs[i];
    tensors.push_back(x.tensor);
  }
  if (tensors.size() == 1) return call.inputs[0];
  const Value y = call.add_output();
  schema::ConcatenationOptionsT options;
  const auto axis = static_cast<int>(call.config.at("axis").as_int());
  options.axis = axis < 0 ? axis + call.shape().rank() : axis;
  call.file.add_operator(schema::Op::CONCATENATION, call.quant ? 2 : 1, tensors,
                         {y.tensor}, std::move(options));
  return y;
}

Value lower_matmul(Lowering& call) {
  const Value y = call.add_output();
  schema::BatchMatMulOptionsT options;
  options.adj_x = call.config.at("transpose_a").as_bool();
  options.adj_y = call.config.at("transpose_b").as_bool();
  call.file.add_operator(schema::Op::BATCH_MATMUL, call.quant ? 2 : 1,
                         {call.inputs[0].tensor, call.inputs[1].tensor},
                         {y.tensor}, std::move(options));
  return y;
}

}  // namespace octet::io::tflite
