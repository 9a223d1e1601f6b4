// Top-1 answers. Internal to train.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// Whether `label` is the first of the largest logits. A row with a NaN has
/// no right answer. REQUIRES: 0 <= label < row.size().
bool is_right(std::span<const float> row, int64_t label);

/// Number of right rows. Shapes: logits [n,classes] f32, labels [n] i64.
/// REQUIRES: labels in [0, classes).
int64_t count_right(const Tensor& logits, const Tensor& labels);

}  // namespace octet::train
