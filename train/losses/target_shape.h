// Shapes of labels that pair with outputs element by element. Internal to
// train.
#pragma once

#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// Whether the shapes of labels and outputs, both with the batch dimension, are
/// equal except for trailing axes of size 1. Output sizes may be
/// Shape::kAnySize.
bool pairs_with(const Shape& labels, const Shape& outputs);

/// Returns the labels as f32 in the shape of the outputs.
/// Throws: ShapeError of `subject` unless pairs_with(); it suggests a
/// transposition if that helps.
Tensor targets_for(std::string_view subject, const Shape& outputs,
                   const Tensor& labels);

}  // namespace octet::train
