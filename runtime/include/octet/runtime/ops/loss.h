// Losses: scalars that backward() starts from.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// Mean over the batch of -log softmax(logits)[label].
/// Shapes: logits [n,classes] (f32), labels [n] (i64) -> [].
/// Throws: ShapeError; ValueError for a label outside [0, classes).
Variable softmax_cross_entropy(const Variable& logits, const Tensor& labels);

/// l1 * sum |x| + l2 * sum x^2; the gradient of |x| at 0 is 0.
/// Shapes: any -> [].
Variable penalty(const Variable& x, float l1, float l2);

}  // namespace octet
