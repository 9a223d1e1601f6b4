// Convolutions whose few output channels fill only half of a vector: two
// neighboring outputs are computed as one pixel with twice the channels. In
// INT8, its window contains both windows, its weights are zero outside of each.
// Depthwise convolutions need no larger windows.
#pragma once

#include "plan.h"

namespace octet::inference {

/// Converts a step to pairs of outputs if its storages allow it and vectors are
/// filled better. Requires a complete step.
void pair_pixels(FusedStep& step, const std::vector<Storage>& storages);

/// Computes outputs of a step with `pairs`, the first window at `image`.
void multiply_pairs(const FusedStep& step, const kernels::CodeWord* image,
                    const OutputTile& outputs, const kernels::Epilogue& e);

}  // namespace octet::inference
