// Normalization over channels and over rows.
#pragma once

#include <span>

#include <octet/runtime/variable.h>

namespace octet {

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta over the last axis,
/// with given statistics. gamma and beta may be empty (1 and 0).
/// Shapes: x [...,c], all others [c].
Variable batch_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, const Tensor& mean,
                    const Tensor& variance, float epsilon);

/// Batch normalization with the statistics of the batch (biased variance).
/// Updates the running statistics: running = momentum * running + (1 -
/// momentum) * batch.
/// Source: Keras BatchNormalization, training=True.
Variable batch_norm_training(const Variable& x, const Variable& gamma,
                             const Variable& beta, std::span<float> moving_mean,
                             std::span<float> moving_variance, float momentum,
                             float epsilon);

/// gamma * (x - mean) / sqrt(variance + epsilon) + beta, with mean and biased
/// variance of each row of the last axis. gamma and beta may be empty (1 and
/// 0).
/// Shapes: x [...,c], gamma and beta [c]. Throws: ShapeError.
/// Source: Ba et al., arXiv 1607.06450, eq. 3.
Variable layer_norm(const Variable& x, const Variable& gamma,
                    const Variable& beta, float epsilon);

}  // namespace octet
