#include <algorithm>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>

#include "memory_source.h"

namespace octet {
namespace {

// Batch size for reading labels.
constexpr int64_t kLabelsRead = 256;

void check_read(std::string_view what, const Tensor& got, const Shape& shape,
                DType type) {
  if (got.empty() || got.dtype() != type || got.shape() != shape) {
    throw ValueError(
        "shape_mismatch", "dataset",
        fmt::format("source must return {} {} of {}, returned {} of {}", what,
                    shape.to_string(), to_string(type), got.shape().to_string(),
                    to_string(got.dtype())));
  }
}

void check_all(std::string_view what, const std::vector<Tensor>& got,
               int64_t count, const std::vector<TensorSpec>& specs) {
  if (got.size() != specs.size()) {
    throw ValueError("count_mismatch", "dataset",
                     fmt::format("source returned {} {}, its specs declare {}",
                                 got.size(), what, specs.size()));
  }
  for (size_t i = 0; i < got.size(); ++i) {
    check_read(what, got[i], specs[i].batch_shape(count), specs[i].dtype);
  }
}

/// Checks the result of a source, which users implement.
void check_batch(const Batch& batch, int64_t count,
                 const SampleSource& source) {
  check_all("inputs", batch.inputs, count, source.input_specs());
  check_all("labels", batch.labels, count, source.label_specs());
  if (!batch.weights.empty()) {
    check_read("weights", batch.weights, Shape{count}, DType::f32);
  }
}

TensorSpec only(std::string_view what, const std::vector<TensorSpec>& specs) {
  if (specs.size() != 1) {
    throw ValueError(
        "count_mismatch", "dataset",
        fmt::format("needs exactly 1 {}, has {}", what, specs.size()));
  }
  return specs[0];
}

}  // namespace

Shape TensorSpec::batch_shape(int64_t n) const {
  std::vector<int64_t> dims{n};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  return Shape(std::span<const int64_t>(dims));
}

Dataset::Dataset(std::shared_ptr<const SampleSource> source)
    : source_(std::move(source)), count_(0) {
  if (source_ == nullptr) {
    throw ValueError("missing_value", "dataset", "source is a null pointer");
  }
  count_ = source_->size();
  if (count_ < 0) {
    throw ValueError(
        "invalid_value", "dataset",
        fmt::format("source size must not be negative, got {}", count_));
  }
}

Dataset::Dataset(Tensor inputs, Tensor labels, float input_scale)
    : Dataset(memory_source({std::move(inputs)}, {std::move(labels)},
                            input_scale)) {}

Dataset::Dataset(std::vector<NamedTensor> inputs,
                 std::vector<NamedTensor> labels)
    : Dataset(memory_source(std::move(inputs), std::move(labels), 1.0f)) {}

Dataset::Dataset(std::vector<NamedTensor> inputs, Tensor label)
    : Dataset(std::move(inputs), std::vector<NamedTensor>{std::move(label)}) {}

Dataset::Dataset(Tensor input, std::vector<NamedTensor> labels)
    : Dataset(std::vector<NamedTensor>{std::move(input)}, std::move(labels)) {}

Dataset Dataset::unlabeled(std::vector<NamedTensor> inputs) {
  return Dataset(std::move(inputs), std::vector<NamedTensor>());
}

Shape Dataset::input_shape() const {
  return only("input", input_specs()).shape;
}
DType Dataset::label_type() const { return only("label", label_specs()).dtype; }
Shape Dataset::label_shape() const {
  return only("label", label_specs()).shape;
}

Batch Dataset::batch(std::span<const int64_t> indices) const {
  for (const int64_t index : indices) {
    if (index < 0 || index >= count_) {
      throw ValueError("out_of_range", "dataset",
                       fmt::format("index {} is not in [0,{})", index, count_));
    }
  }
  Batch batch = source_->read(in_source(indices));
  check_batch(batch, static_cast<int64_t>(indices.size()), *source_);
  return batch;
}

Batch Dataset::batch(int64_t first, int64_t count) const {
  // first + count could overflow.
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("cannot read {} samples from index {}: there are {}", count,
                    first, count_));
  }
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return batch(indices);
}

Dataset Dataset::take(int64_t count) const {
  if (count < 1) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("take() needs a count of at least 1, got {}", count));
  }
  Dataset result = *this;
  result.count_ = std::min(count, count_);
  return result;
}

Dataset Dataset::drop(int64_t count) const {
  if (count < 0 || count >= count_) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("drop() must leave at least 1 of {} samples, got {}",
                    count_, count));
  }
  Dataset result = *this;
  result.first_ += count;
  result.count_ -= count;
  return result;
}

std::vector<int64_t> Dataset::in_source(
    std::span<const int64_t> indices) const {
  std::vector<int64_t> places(indices.begin(), indices.end());
  for (int64_t& place : places) {
    place += first_;
    if (order_ != nullptr) place = (*order_)[static_cast<size_t>(place)];
  }
  return places;
}

Dataset Dataset::at(std::span<const int64_t> indices) const {
  Dataset result = *this;
  result.order_ =
      std::make_shared<const std::vector<int64_t>>(in_source(indices));
  result.first_ = 0;
  result.count_ = static_cast<int64_t>(indices.size());
  return result;
}

Tensor Dataset::labels() const {
  const TensorSpec spec = only("label", label_specs());
  if (labels_known()) return known_labels()[0];
  Tensor all(spec.batch_shape(count_), spec.dtype);
  for (int64_t first = 0; first < count_; first += kLabelsRead) {
    const int64_t count = std::min(kLabelsRead, count_ - first);
    const Tensor part = batch(first, count).label();
    Tensor rows = all.slice(first, count);
    std::memcpy(rows.raw(), part.raw(), static_cast<size_t>(part.bytes()));
  }
  return all;
}

std::vector<Tensor> Dataset::known_labels() const {
  std::vector<Tensor> known = source_->known_labels();
  if (known.empty()) return known;
  check_all("labels", known, source_->size(), label_specs());
  std::vector<int64_t> indices(static_cast<size_t>(count_));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  const std::vector<int64_t> places = in_source(indices);
  for (Tensor& labels : known) labels = rows_at(labels, places);
  return known;
}

bool Dataset::labels_known() const { return !source_->known_labels().empty(); }

}  // namespace octet
