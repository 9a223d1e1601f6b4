// Accuracy of predictions, for all kinds of labels. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// Returns the argmax, the first among equal maxima; -1 if a value is NaN.
int64_t largest(std::span<const float> row);

/// Whether `label` is among the k largest outputs; of equal outputs, lower
/// classes rank first. False for a row with a NaN.
/// REQUIRES: 0 <= label < row.size().
bool is_in_top_k(std::span<const float> row, int64_t label, int64_t k);

/// Results of labels_of() for a label with a NaN, and for an ignored label.
inline constexpr int64_t kNoLabel = -1;
inline constexpr int64_t kIgnored = -2;

/// Returns the labels of all positions as class indices; the argmax of one-hot
/// or soft labels.
/// Shapes: outputs [n,...,classes] f32; labels [n,...] i64, or f32 of the
/// outputs' shape.
/// Throws: ShapeError of `subject`; ValueError for a label out of range.
std::vector<int64_t> labels_of(std::string_view subject, const Tensor& outputs,
                               const Tensor& labels,
                               std::optional<int64_t> ignored = {});

/// Returns for each sample the share of positions whose label is among the top
/// k: 0 or 1 for a single position; 0 if all are ignored.
/// Shapes and throws: as labels_of().
std::vector<double> in_top_k(std::string_view subject, const Tensor& outputs,
                             const Tensor& labels, int64_t k,
                             std::optional<int64_t> ignored = {});

/// Returns for each sample the share of outputs for which output > `threshold`
/// agrees with label > 0.5. NaN counts as wrong.
/// Shapes: outputs [n,...] f32; labels as targets_for().
std::vector<double> on_right_side(std::string_view subject,
                                  const Tensor& outputs, const Tensor& labels,
                                  float threshold,
                                  std::optional<int64_t> ignored = {});

/// Converts i64 labels to f32; returns f32 labels unchanged.
Tensor as_numbers(const Tensor& labels);

}  // namespace octet::train
