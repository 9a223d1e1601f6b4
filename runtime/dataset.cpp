#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

// Samples read at a time for their labels.
constexpr int64_t kLabelsRead = 256;

/// [n] followed by the dimensions of one sample.
Shape batch_shape(int64_t n, const Shape& sample) {
  std::vector<int64_t> dims{n};
  dims.insert(dims.end(), sample.dims().begin(), sample.dims().end());
  return Shape(std::span<const int64_t>(dims));
}

class MemorySource final : public SampleSource {
 public:
  MemorySource(Tensor inputs, Tensor labels, float scale)
      : inputs_(std::move(inputs)),
        labels_(std::move(labels)),
        scale_(scale),
        input_shape_(inputs_.shape().slice(1, inputs_.shape().rank())),
        label_shape_(labels_.shape().slice(1, labels_.shape().rank())) {}

  int64_t size() const override { return labels_.shape()[0]; }
  Shape input_shape() const override { return input_shape_; }
  DType label_type() const override { return labels_.dtype(); }
  Shape label_shape() const override { return label_shape_; }

  Tensor known_labels() const override { return labels_; }

  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    Batch batch{Tensor(batch_shape(count, input_shape_)),
                Tensor(batch_shape(count, label_shape_), labels_.dtype())};
    const auto same = [](auto x) { return x; };
    if (inputs_.dtype() == DType::u8) {
      gather(
          inputs_.data<uint8_t>(), indices, batch.inputs.f32(),
          [this](uint8_t code) { return scale_ * static_cast<float>(code); });
    } else {
      gather(inputs_.f32(), indices, batch.inputs.f32(), same);
    }
    if (labels_.dtype() == DType::i64) {
      gather(labels_.data<int64_t>(), indices, batch.labels.data<int64_t>(),
             same);
    } else {
      gather(labels_.f32(), indices, batch.labels.f32(), same);
    }
    return batch;
  }

 private:
  template <class From, class To, class Convert>
  static void gather(std::span<const From> from,
                     std::span<const int64_t> indices, std::span<To> to,
                     Convert convert) {
    if (indices.empty()) return;
    const size_t length = to.size() / indices.size();
    for (size_t row = 0; row < indices.size(); ++row) {
      const auto sample =
          from.subspan(static_cast<size_t>(indices[row]) * length, length);
      std::transform(sample.begin(), sample.end(),
                     to.subspan(row * length, length).begin(), convert);
    }
  }

  Tensor inputs_;
  Tensor labels_;
  float scale_;
  Shape input_shape_;
  Shape label_shape_;
};

std::shared_ptr<const SampleSource> memory_source(Tensor inputs, Tensor labels,
                                                  float scale) {
  if (inputs.empty() || labels.empty()) {
    throw ValueError(
        "dataset: expected inputs and labels, got an empty tensor");
  }
  if (inputs.dtype() != DType::f32 && inputs.dtype() != DType::u8) {
    throw ValueError(
        fmt::format("dataset: expected inputs of f32 or u8, got "
                    "{}",
                    to_string(inputs.dtype())));
  }
  if (labels.dtype() != DType::i64 && labels.dtype() != DType::f32) {
    throw ValueError(
        fmt::format("dataset: expected labels of i64 (classes) or f32 "
                    "(targets), got {}",
                    to_string(labels.dtype())));
  }
  if (inputs.shape().rank() < 1) {
    throw ShapeError("dataset: expected inputs [n,...], got rank 0");
  }
  const bool classes = labels.dtype() == DType::i64;
  if (classes ? labels.shape().rank() != 1 : labels.shape().rank() < 1) {
    throw ShapeError(fmt::format(
        "dataset: expected {}, got {}",
        classes ? "classes as labels [n]" : "targets as labels [n,...]",
        labels.shape().to_string()));
  }
  if (inputs.shape()[0] != labels.shape()[0]) {
    throw ShapeError(
        fmt::format("dataset: expected one label per input, got inputs {} and "
                    "labels {}",
                    inputs.shape().to_string(), labels.shape().to_string()));
  }
  if (!std::isfinite(scale) || scale == 0) {
    throw ValueError(fmt::format(
        "dataset: expected a finite input_scale, not 0, got {}{}", scale,
        scale == 0 ? ". Hint: 1 / 255 is 0 in C++; write "
                     "1 / 255.0f"
                   : ""));
  }
  if (inputs.dtype() == DType::f32 && scale != 1.0f) {
    throw ValueError(
        fmt::format("dataset: expected input_scale 1 for f32 inputs, got {}. "
                    "Hint: the scale is for u8; multiply f32 inputs yourself",
                    scale));
  }
  return std::make_shared<MemorySource>(std::move(inputs), std::move(labels),
                                        scale);
}

void check_read(std::string_view what, const Tensor& got, const Shape& shape,
                DType type) {
  if (got.empty() || got.dtype() != type || got.shape() != shape) {
    throw ValueError(fmt::format(
        "dataset: expected its source to read {} {} of {}, got {} of {}", what,
        shape.to_string(), to_string(type), got.shape().to_string(),
        to_string(got.dtype())));
  }
}

/// Rows of a tensor, in the order of `places`.
Tensor rows_of(const Tensor& from, std::span<const int64_t> places) {
  const auto count = static_cast<int64_t>(places.size());
  Tensor rows(from.shape().with(0, count), from.dtype());
  const auto row_bytes = static_cast<size_t>(
      from.shape()[0] > 0 ? from.bytes() / from.shape()[0] : 0);
  auto* to = static_cast<std::byte*>(rows.raw());
  const auto* values = static_cast<const std::byte*>(from.raw());
  for (size_t i = 0; i < places.size(); ++i) {
    std::memcpy(to + i * row_bytes,
                values + static_cast<size_t>(places[i]) * row_bytes, row_bytes);
  }
  return rows;
}

/// A source is written by a user: what it returns is checked once, here.
void check_batch(const Batch& batch, int64_t count,
                 const SampleSource& source) {
  check_read("inputs", batch.inputs, batch_shape(count, source.input_shape()),
             DType::f32);
  check_read("labels", batch.labels, batch_shape(count, source.label_shape()),
             source.label_type());
  if (!batch.weights.empty()) {
    check_read("weights", batch.weights, Shape{count}, DType::f32);
  }
}

}  // namespace

Dataset::Dataset(std::shared_ptr<const SampleSource> source)
    : source_(std::move(source)), count_(0) {
  if (source_ == nullptr) {
    throw ValueError("dataset: expected a source, got a null pointer");
  }
  count_ = source_->size();
  if (count_ < 0) {
    throw ValueError(fmt::format(
        "dataset: expected a source of 0 or more samples, got {}", count_));
  }
}

Dataset::Dataset(Tensor inputs, Tensor labels, float input_scale)
    : Dataset(
          memory_source(std::move(inputs), std::move(labels), input_scale)) {}

Batch Dataset::batch(std::span<const int64_t> indices) const {
  for (const int64_t index : indices) {
    if (index < 0 || index >= count_) {
      throw ValueError(fmt::format(
          "dataset: expected indices in [0,{}), got {}", count_, index));
    }
  }
  Batch batch = source_->read(in_source(indices));
  check_batch(batch, static_cast<int64_t>(indices.size()), *source_);
  return batch;
}

Batch Dataset::batch(int64_t first, int64_t count) const {
  // Written without first + count, which could overflow.
  if (first < 0 || count < 0 || first > count_ || count > count_ - first) {
    throw ValueError(
        fmt::format("dataset: expected samples in [0,{}), got {} from {} on",
                    count_, count, first));
  }
  std::vector<int64_t> indices(static_cast<size_t>(count));
  std::iota(indices.begin(), indices.end(), first);
  return batch(indices);
}

Dataset Dataset::take(int64_t count) const {
  if (count < 1) {
    throw ValueError(fmt::format(
        "dataset: expected to take 1 or more samples, got {}", count));
  }
  Dataset result = *this;
  result.count_ = std::min(count, count_);
  return result;
}

Dataset Dataset::drop(int64_t count) const {
  if (count < 0 || count >= count_) {
    throw ValueError(
        fmt::format("dataset: expected to drop 0 to {} samples, got {}",
                    count_ - 1, count));
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
  const Tensor known = source_->known_labels();
  std::vector<int64_t> indices(static_cast<size_t>(count_));
  std::iota(indices.begin(), indices.end(), int64_t{0});
  if (!known.empty()) {
    check_read("labels", known,
               batch_shape(source_->size(), source_->label_shape()),
               source_->label_type());
    return rows_of(known, in_source(indices));
  }
  Tensor all(batch_shape(count_, source_->label_shape()),
             source_->label_type());
  for (int64_t first = 0; first < count_; first += kLabelsRead) {
    const int64_t count = std::min(kLabelsRead, count_ - first);
    const Tensor part = batch(first, count).labels;
    Tensor rows = all.slice(first, count);
    std::memcpy(rows.raw(), part.raw(), static_cast<size_t>(part.bytes()));
  }
  return all;
}

bool Dataset::labels_known() const { return !source_->known_labels().empty(); }

}  // namespace octet
