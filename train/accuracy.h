// Right answers, and labels in the forms they come in. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::train {

/// The first of the largest numbers; nothing (-1) if one is NaN.
int64_t largest(std::span<const float> row);

/// Whether `label` is among the k first of the outputs, larger ones first and
/// of equal ones the lower class. A row with a NaN has no right answer.
/// REQUIRES: 0 <= label < row.size().
bool is_in_top_k(std::span<const float> row, int64_t label, int64_t k);

/// What labels_of() gives of a label that is NaN, and of one that does not
/// count.
inline constexpr int64_t kNoLabel = -1;
inline constexpr int64_t kIgnored = -2;

/// The labels of all places as class numbers; of targets the first of the
/// largest.
/// Shapes: outputs [n,...,classes] f32; labels [n,...] i64 or as the outputs,
/// f32.
/// Throws: ShapeError naming `subject`; ValueError for a label out of range.
std::vector<int64_t> labels_of(std::string_view subject, const Tensor& outputs,
                               const Tensor& labels,
                               std::optional<int64_t> ignored = {});

/// The share of each sample's places with the label in the top k: 0 or 1 for
/// samples of one place; 0 without any that counts.
/// Shapes and throws: as labels_of.
std::vector<double> in_top_k(std::string_view subject, const Tensor& outputs,
                             const Tensor& labels, int64_t k,
                             std::optional<int64_t> ignored = {});

/// The share of each sample's outputs on the same side as their labels: above
/// `threshold` for labels above 0.5. NaN is wrong.
/// Shapes: outputs [n,...] f32; labels as targets_for().
std::vector<double> on_right_side(std::string_view subject,
                                  const Tensor& outputs, const Tensor& labels,
                                  float threshold,
                                  std::optional<int64_t> ignored = {});

/// Labels of i64 as f32; others as they are.
Tensor as_numbers(const Tensor& labels);

}  // namespace octet::train
