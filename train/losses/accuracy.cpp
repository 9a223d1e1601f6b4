#include "accuracy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/detail/shape_hint.h>
#include <octet/runtime/error.h>

#include "target_shape.h"

namespace octet::train {

int64_t largest(std::span<const float> row) {
  size_t best = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return -1;
    if (row[i] > row[best]) best = i;
  }
  return static_cast<int64_t>(best);
}

bool is_in_top_k(std::span<const float> row, int64_t label, int64_t k) {
  const auto answer = static_cast<size_t>(label);
  const float own = row[answer];
  int64_t before = 0;
  for (size_t i = 0; i < row.size(); ++i) {
    if (std::isnan(row[i])) return false;
    if (row[i] > own || (row[i] == own && i < answer)) ++before;
  }
  return before < k;
}

std::vector<int64_t> labels_of(std::string_view subject, const Tensor& outputs,
                               const Tensor& labels,
                               std::optional<int64_t> ignored) {
  const Shape& shape = outputs.shape();
  const bool classes = labels.dtype() == DType::i64;
  const Shape places =
      shape.rank() < 2 ? Shape{} : shape.slice(0, shape.rank() - 1);
  if (shape.rank() < 2 || shape.size() < 1 ||
      labels.shape() != (classes ? places : shape)) {
    throw ShapeError(
        "shape_mismatch", subject,
        fmt::format(
            "outputs [n,...,classes] require labels i64 [n,...] or f32 "
            "[n,...,classes], got outputs {} and labels {} {}{}",
            shape.to_string(), to_string(labels.dtype()),
            labels.shape().to_string(),
            shape.rank() < 2
                ? ""
                : label_shape_hint(labels.shape(), classes ? places : shape)));
  }
  const auto length = static_cast<size_t>(shape[-1]);
  const auto of_sample = static_cast<size_t>(places.size() / shape[0]);
  std::vector<int64_t> result(static_cast<size_t>(places.size()));
  for (size_t i = 0; i < result.size(); ++i) {
    if (!classes) {
      result[i] = largest(labels.f32().subspan(i * length, length));
      continue;
    }
    const int64_t label = labels.data<int64_t>()[i];
    if (label != ignored && (label < 0 || label >= shape[-1])) {
      throw ValueError(
          "out_of_range", subject,
          fmt::format("labels must be in [0, {}), got {} at sample {}",
                      shape[-1], label, i / of_sample));
    }
    result[i] = label == ignored ? kIgnored : label;
  }
  return result;
}

std::vector<double> in_top_k(std::string_view subject, const Tensor& outputs,
                             const Tensor& labels, int64_t k,
                             std::optional<int64_t> ignored) {
  const std::vector<int64_t> answers =
      labels_of(subject, outputs, labels, ignored);
  const auto length = static_cast<size_t>(outputs.shape()[-1]);
  const auto values = outputs.f32();
  std::vector<double> result(static_cast<size_t>(outputs.shape()[0]));
  const size_t places = answers.size() / result.size();
  for (size_t sample = 0; sample < result.size(); ++sample) {
    size_t right = 0;
    size_t count = 0;
    for (size_t i = sample * places; i < (sample + 1) * places; ++i) {
      if (answers[i] == kIgnored) continue;
      ++count;
      const auto row = values.subspan(i * length, length);
      if (answers[i] != kNoLabel && is_in_top_k(row, answers[i], k)) ++right;
    }
    if (count == 0) continue;
    result[sample] = static_cast<double>(right) / static_cast<double>(count);
  }
  return result;
}

std::vector<double> on_right_side(std::string_view subject,
                                  const Tensor& outputs, const Tensor& labels,
                                  float threshold,
                                  std::optional<int64_t> ignored) {
  const Tensor targets = targets_for(subject, outputs.shape(), labels);
  const auto y = outputs.f32();
  const auto t = targets.f32();
  std::vector<double> result(static_cast<size_t>(outputs.shape()[0]));
  const size_t places = y.size() / result.size();
  for (size_t sample = 0; sample < result.size(); ++sample) {
    size_t right = 0;
    size_t count = 0;
    for (size_t i = sample * places; i < (sample + 1) * places; ++i) {
      if (ignored && t[i] == static_cast<float>(*ignored)) continue;
      ++count;
      if (!std::isnan(y[i]) && (y[i] > threshold) == (t[i] > 0.5f)) ++right;
    }
    if (count == 0) continue;
    result[sample] = static_cast<double>(right) / static_cast<double>(count);
  }
  return result;
}

Tensor as_numbers(const Tensor& labels) {
  if (labels.dtype() != DType::i64) return labels;
  Tensor result(labels.shape());
  std::ranges::transform(labels.data<int64_t>(), result.f32().begin(),
                         [](int64_t x) { return static_cast<float>(x); });
  return result;
}

}  // namespace octet::train
