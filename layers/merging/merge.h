// Shared implementation of layers that combine several inputs elementwise.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/custom_layer.h>
#include <octet/layers/layer.h>

namespace octet {

/// Definition of such a layer.
struct Merge {
  const char* class_name;
  Variable (*combine)(const Variable& x, const Variable& y);
  const char* onnx_op;
  bool pair = false;      ///< takes exactly two inputs
  bool mean = false;      ///< divides by the number of inputs
  bool negative = false;  ///< may be negative for nonnegative inputs
};

/// Creates the layer. `merge` must outlive it.
std::shared_ptr<Layer> make_merge(const Merge& merge, std::string name);

/// Returns the shape that the inputs broadcast to; inputs of lower rank get
/// axes of size 1 after the batch axis. Throws: ShapeError; ValueError for no
/// input.
Shape merged_shape(std::span<const Shape> inputs);
/// Returns the inputs reshaped to equal rank.
std::vector<Variable> of_one_rank(std::span<const Variable> inputs);
/// ONNX operands of equal rank and layout, and the result, without a name yet.
struct MergedOperands {
  OnnxValue result;
  std::vector<std::string> operands;
};
MergedOperands merged_operands(EmitContext& context,
                               std::span<const OnnxValue> inputs);

}  // namespace octet
