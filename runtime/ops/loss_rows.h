// Common parts of the losses: loss and gradient per sample, and their
// reduction. Internal to the losses.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <octet/runtime/ops/nn.h>

namespace octet::loss {

/// Returns the loss of sample `i` and writes its gradient to `d`.
using Row = std::function<double(size_t i, std::span<float> d)>;

/// Runs `row` for every sample of `x` [n,...], in parallel, and reduces.
/// Throws: ShapeError for weights of the wrong shape; ValueError for weights
/// that are not finite and >= 0.
Variable over_rows(std::string_view name, const Variable& x, const Row& row,
                   const LossOptions& loss_options);

/// log(sum(exp(x / temperature))).
double log_sum_exp(std::span<const float> x, double temperature = 1);

/// Throws: ShapeError unless logits are [n,...,classes] and not empty.
void check_logits(std::string_view name, const Shape& logits);
/// Throws: ShapeError unless labels are [n,...]; ValueError unless they are i64
/// in [0, classes) or `ignored`.
void check_labels(std::string_view name, const Shape& logits,
                  const Tensor& labels, std::optional<int64_t> ignored = {});
/// Throws: ShapeError unless targets have the shape of the outputs, with at
/// least 1 axis and not empty; ValueError unless they are f32.
void check_targets(std::string_view name, const Shape& outputs,
                   const Tensor& targets);
/// Throws: ValueError, with a hint, unless all targets are in [0, most].
void check_target_range(std::string_view name, const Tensor& targets,
                        float most);
/// Throws: ValueError for a share outside [0, 1].
void check_share(std::string_view name, std::string_view option, float share);

}  // namespace octet::loss
