// What the layers that combine several inputs value by value have in common.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>
#include <octet/layers/onnx_builder.h>

namespace octet {

/// What sets one of them apart.
struct Merge {
  const char* class_name;
  Variable (*combine)(const Variable& x, const Variable& y);
  const char* onnx_op;
  bool pair = false;      ///< takes two inputs, no more and no less
  bool mean = false;      ///< divides by the number of inputs
  bool negative = false;  ///< may give negative values of others
};

/// `merge` must live as long as the layer.
std::shared_ptr<Layer> make_merge(const Merge& merge, std::string name);

/// What the inputs broadcast to; those of lower rank get axes of size 1 after
/// the batch. Throws: ShapeError; ValueError for no input.
Shape merged_shape(std::span<const Shape> inputs);
/// The inputs with those axes.
std::vector<Variable> of_one_rank(std::span<const Variable> inputs);
/// The same in ONNX, stored alike, and the result, which has no name yet.
struct MergedOperands {
  OnnxValue result;
  std::vector<std::string> operands;
};
MergedOperands merged_operands(EmitContext& context,
                               std::span<const OnnxValue> inputs);

}  // namespace octet
