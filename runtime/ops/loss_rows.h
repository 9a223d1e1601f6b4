// What the losses have in common: one loss and one row of gradients a sample,
// and their reduction. Internal to the losses.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>

#include <octet/runtime/ops/loss.h>

namespace octet::loss {

/// The loss of sample `i`, and its gradient to the sample's values in `d`.
using Row = std::function<double(size_t i, std::span<float> d)>;

/// Runs `row` for every sample of `x` [n,...], several at once, and reduces.
/// Throws: ShapeError for weights of another shape; ValueError for weights
/// that are not finite and >= 0.
Variable over_rows(std::string_view name, const Variable& x, const Row& row,
                   const LossOptions& loss_options);

/// log(sum(exp(x / temperature))).
double log_sum_exp(std::span<const float> x, double temperature = 1);

/// Throws: ShapeError unless logits are [n,...,classes], none of them 0.
void check_logits(std::string_view name, const Shape& logits);
/// Throws: ShapeError unless labels are [n,...]; ValueError unless they are i64
/// in [0, classes) or `ignored`.
void check_labels(std::string_view name, const Shape& logits,
                  const Tensor& labels, std::optional<int64_t> ignored = {});
/// Throws: ShapeError unless the targets have the outputs' shape, of rank 1 or
/// more and not empty; ValueError unless they are f32.
void check_targets(std::string_view name, const Shape& outputs,
                   const Tensor& targets);
/// Throws: ValueError unless all targets are in [0, most], with the usual cure.
void check_target_range(std::string_view name, const Tensor& targets,
                        float most);
/// Throws: ValueError for a share outside [0, 1].
void check_share(std::string_view name, std::string_view option, float share);

}  // namespace octet::loss
