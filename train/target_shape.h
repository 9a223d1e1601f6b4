// Labels that pair with outputs value by value: which shapes do. Internal to
// train.
#pragma once

#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// Whether labels of the shape `labels` pair with outputs of the shape
/// `outputs`, both with the axis of samples: equal, but for axes of size 1 at
/// the end. Sizes of the outputs may be Shape::kAnySize.
bool pairs_with(const Shape& labels, const Shape& outputs);

/// The labels as f32 in the shape of the outputs.
/// Throws: ShapeError naming `subject`, and the transposition that fits if
/// there is one, unless pairs_with().
Tensor targets_for(std::string_view subject, const Shape& outputs,
                   const Tensor& labels);

}  // namespace octet::train
