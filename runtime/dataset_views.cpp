// Datasets made of others: map() and concat().
#include <cstring>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

using MapFunction = std::function<Batch(Batch)>;

Shape sample_shape(const Tensor& batch) {
  return batch.shape().slice(1, batch.shape().rank());
}

Batch mapped(const Dataset& data, const MapFunction& function,
             std::span<const int64_t> indices) {
  const auto count = static_cast<int64_t>(indices.size());
  Batch batch = function(data.batch(indices));
  for (const Tensor* tensor : {&batch.inputs, &batch.labels}) {
    if (tensor->empty() || tensor->shape().rank() < 1 ||
        tensor->shape()[0] != count) {
      throw ShapeError(
          fmt::format("dataset: expected map() to give inputs and labels of {} "
                      "samples, got {}",
                      count, tensor->shape().to_string()));
    }
  }
  const bool classes = batch.labels.dtype() == DType::i64;
  if (batch.inputs.dtype() != DType::f32 ||
      (classes ? batch.labels.shape().rank() != 1
               : batch.labels.dtype() != DType::f32)) {
    throw ValueError(fmt::format(
        "dataset: expected map() to give inputs of f32 and labels of f32 or "
        "i64 [n], got {} and {} {}",
        to_string(batch.inputs.dtype()), to_string(batch.labels.dtype()),
        batch.labels.shape().to_string()));
  }
  return batch;
}

class MappedSource final : public SampleSource {
 public:
  MappedSource(Dataset data, MapFunction function)
      : data_(std::move(data)), function_(std::move(function)) {
    const int64_t first = 0;
    const Batch sample = mapped(data_, function_, {&first, 1});
    input_shape_ = sample_shape(sample.inputs);
    label_shape_ = sample_shape(sample.labels);
    label_type_ = sample.labels.dtype();
  }

  int64_t size() const override { return data_.size(); }
  Shape input_shape() const override { return input_shape_; }
  DType label_type() const override { return label_type_; }
  Shape label_shape() const override { return label_shape_; }
  Batch read(std::span<const int64_t> indices) const override {
    return mapped(data_, function_, indices);
  }

 private:
  Dataset data_;
  MapFunction function_;
  Shape input_shape_;
  Shape label_shape_;
  DType label_type_;
};

/// Copies row `from` of one tensor to row `to` of another.
void copy_row(const Tensor& source, int64_t from, Tensor& target, int64_t to) {
  const auto bytes = static_cast<size_t>(source.bytes() / source.shape()[0]);
  std::memcpy(
      static_cast<std::byte*>(target.raw()) + static_cast<size_t>(to) * bytes,
      static_cast<const std::byte*>(source.raw()) +
          static_cast<size_t>(from) * bytes,
      bytes);
}

class JoinedSource final : public SampleSource {
 public:
  JoinedSource(Dataset first, Dataset second)
      : parts_{std::move(first), std::move(second)} {}

  int64_t size() const override { return parts_[0].size() + parts_[1].size(); }
  Shape input_shape() const override { return parts_[0].input_shape(); }
  DType label_type() const override { return parts_[0].label_type(); }
  Shape label_shape() const override { return parts_[0].label_shape(); }

  Batch read(std::span<const int64_t> indices) const override {
    const auto count = static_cast<int64_t>(indices.size());
    Batch all;
    for (const bool second : {false, true}) {
      const int64_t begin = second ? parts_[0].size() : 0;
      std::vector<int64_t> rows;
      std::vector<int64_t> places;
      for (int64_t i = 0; i < count; ++i) {
        const int64_t index = indices[static_cast<size_t>(i)];
        if ((index >= parts_[0].size()) != second) continue;
        rows.push_back(i);
        places.push_back(index - begin);
      }
      if (rows.empty() && (second || count > 0)) continue;
      put(parts_[second ? 1 : 0].batch(places), rows, count, all);
    }
    return all;
  }

  Tensor known_labels() const override {
    if (!parts_[0].labels_known() || !parts_[1].labels_known()) return {};
    const Tensor first = parts_[0].labels();
    const Tensor second = parts_[1].labels();
    Tensor all(first.shape().with(0, size()), first.dtype());
    for (int64_t i = 0; i < size(); ++i) {
      const bool later = i >= parts_[0].size();
      copy_row(later ? second : first, later ? i - parts_[0].size() : i, all,
               i);
    }
    return all;
  }

 private:
  static void put(const Batch& part, const std::vector<int64_t>& rows,
                  int64_t count, Batch& all) {
    if (all.inputs.empty()) {
      all.inputs = Tensor(part.inputs.shape().with(0, count));
      all.labels =
          Tensor(part.labels.shape().with(0, count), part.labels.dtype());
    }
    if (!part.weights.empty() && all.weights.empty()) {
      all.weights = Tensor::full(Shape{count}, 1.0f);
    }
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto from = static_cast<int64_t>(i);
      copy_row(part.inputs, from, all.inputs, rows[i]);
      copy_row(part.labels, from, all.labels, rows[i]);
      if (!part.weights.empty()) {
        copy_row(part.weights, from, all.weights, rows[i]);
      }
    }
  }

  Dataset parts_[2];
};

}  // namespace

Dataset Dataset::map(std::function<Batch(Batch)> function) const {
  if (function == nullptr) {
    throw ValueError("dataset: expected a function for map(), got none");
  }
  if (size() == 0) {
    throw ValueError("dataset: expected samples to map, got none");
  }
  return Dataset(std::make_shared<MappedSource>(*this, std::move(function)));
}

Dataset Dataset::concat(const Dataset& other) const {
  if (input_shape() != other.input_shape() ||
      label_shape() != other.label_shape()) {
    throw ShapeError(fmt::format(
        "dataset: expected samples {} with labels {} to join, got {} with {}",
        input_shape().to_string(), label_shape().to_string(),
        other.input_shape().to_string(), other.label_shape().to_string()));
  }
  if (label_type() != other.label_type()) {
    throw ValueError(
        fmt::format("dataset: expected labels of {} to join, got {}",
                    to_string(label_type()), to_string(other.label_type())));
  }
  return Dataset(std::make_shared<JoinedSource>(*this, other));
}

}  // namespace octet
