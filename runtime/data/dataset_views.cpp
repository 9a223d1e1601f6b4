// Datasets derived from others: map(), concat(), with_weights(), select().
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

using MapFunction = std::function<Batch(Batch)>;

void check_mapped(const Tensor& tensor, int64_t count) {
  if (tensor.empty() || tensor.shape().rank() < 1 ||
      tensor.shape()[0] != count) {
    throw ShapeError(
        "count_mismatch", "dataset",
        fmt::format(
            "map() must return inputs and labels of {} samples, got shape {}",
            count, tensor.shape().to_string()));
  }
}

Batch mapped(const Dataset& data, const MapFunction& function,
             std::span<const int64_t> indices) {
  const int64_t count = std::ssize(indices);
  Batch batch = function(data.batch(indices));
  if (batch.inputs.empty()) check_mapped(Tensor(), count);
  for (const Tensor& input : batch.inputs) {
    check_mapped(input, count);
    if (input.dtype() == DType::f32) continue;
    throw ValueError("dtype_mismatch", "dataset",
                     fmt::format("map() must return f32 inputs, got {}",
                                 to_string(input.dtype())));
  }
  for (const Tensor& label : batch.labels) {
    check_mapped(label, count);
    if (label.dtype() == DType::i64 || label.dtype() == DType::f32) continue;
    throw ValueError("dtype_mismatch", "dataset",
                     fmt::format("map() must return f32 or i64 labels, got {}",
                                 to_string(label.dtype())));
  }
  return batch;
}

/// Specs of batched tensors; takes the names from `before` if counts agree.
std::vector<TensorSpec> specs_of(const std::vector<Tensor>& tensors,
                                 const std::vector<TensorSpec>& before) {
  std::vector<TensorSpec> specs;
  for (const Tensor& tensor : tensors) {
    const Shape& shape = tensor.shape();
    specs.push_back({shape.slice(1, shape.rank()), tensor.dtype()});
  }
  for (size_t i = 0; specs.size() == before.size() && i < specs.size(); ++i) {
    specs[i].name = before[i].name;
  }
  return specs;
}

class MappedSource final : public SampleSource {
 public:
  MappedSource(Dataset data, MapFunction function)
      : data_(std::move(data)), function_(std::move(function)) {
    const int64_t first = 0;
    const Batch sample = mapped(data_, function_, {&first, 1});
    inputs_ = specs_of(sample.inputs, data_.input_specs());
    labels_ = specs_of(sample.labels, data_.label_specs());
  }

  int64_t size() const override { return data_.size(); }
  std::vector<TensorSpec> input_specs() const override { return inputs_; }
  std::vector<TensorSpec> label_specs() const override { return labels_; }
  Batch read(std::span<const int64_t> indices) const override {
    return mapped(data_, function_, indices);
  }

 private:
  Dataset data_;
  MapFunction function_;
  std::vector<TensorSpec> inputs_;
  std::vector<TensorSpec> labels_;
};

/// Copies row i of `source` to row `rows`[i] of `target`, which is allocated
/// for `count` rows if empty.
void copy_rows(const Tensor& source, const std::vector<int64_t>& rows,
               int64_t count, Tensor& target) {
  if (target.empty()) {
    target = Tensor(source.shape().with(0, count), source.dtype());
  }
  if (rows.empty()) return;
  const auto bytes = static_cast<size_t>(source.bytes() / source.shape()[0]);
  for (size_t i = 0; i < rows.size(); ++i) {
    std::memcpy(static_cast<std::byte*>(target.raw()) +
                    static_cast<size_t>(rows[i]) * bytes,
                static_cast<const std::byte*>(source.raw()) + i * bytes, bytes);
  }
}

class JoinedSource final : public SampleSource {
 public:
  JoinedSource(Dataset first, Dataset second)
      : parts_{std::move(first), std::move(second)} {}

  int64_t size() const override { return parts_[0].size() + parts_[1].size(); }
  std::vector<TensorSpec> input_specs() const override {
    return parts_[0].input_specs();
  }
  std::vector<TensorSpec> label_specs() const override {
    return parts_[0].label_specs();
  }

  Batch read(std::span<const int64_t> indices) const override {
    const int64_t count = std::ssize(indices);
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

  std::vector<Tensor> known_labels() const override {
    std::vector<Tensor> all(label_specs().size());
    if (!parts_[0].labels_known() || !parts_[1].labels_known()) return {};
    int64_t first = 0;
    for (const Dataset& part : parts_) {
      std::vector<int64_t> rows(static_cast<size_t>(part.size()));
      std::iota(rows.begin(), rows.end(), first);
      first += part.size();
      const std::vector<Tensor> labels = part.known_labels();
      for (size_t i = 0; i < all.size(); ++i) {
        copy_rows(labels[i], rows, size(), all[i]);
      }
    }
    return all;
  }

 private:
  static void put(const Batch& part, const std::vector<int64_t>& rows,
                  int64_t count, Batch& all) {
    all.inputs.resize(part.inputs.size());
    all.labels.resize(part.labels.size());
    for (size_t i = 0; i < part.inputs.size(); ++i) {
      copy_rows(part.inputs[i], rows, count, all.inputs[i]);
    }
    for (size_t i = 0; i < part.labels.size(); ++i) {
      copy_rows(part.labels[i], rows, count, all.labels[i]);
    }
    if (part.weights.empty()) return;
    if (all.weights.empty()) all.weights = Tensor::full(Shape{count}, 1.0f);
    copy_rows(part.weights, rows, count, all.weights);
  }

  Dataset parts_[2];
};

class WeightedSource final : public SampleSource {
 public:
  WeightedSource(Dataset data, Tensor weights)
      : data_(std::move(data)), weights_(std::move(weights)) {}

  int64_t size() const override { return data_.size(); }
  std::vector<TensorSpec> input_specs() const override {
    return data_.input_specs();
  }
  std::vector<TensorSpec> label_specs() const override {
    return data_.label_specs();
  }
  std::vector<Tensor> known_labels() const override {
    return data_.known_labels();
  }
  Batch read(std::span<const int64_t> indices) const override {
    Batch batch = data_.batch(indices);
    batch.weights = Tensor({std::ssize(indices)});
    const auto from = weights_.f32();
    std::ranges::transform(
        indices, batch.weights.f32().begin(),
        [&](int64_t index) { return from[static_cast<size_t>(index)]; });
    return batch;
  }

 private:
  Dataset data_;
  const Tensor weights_;
};

template <class T>
std::vector<T> chosen(const std::vector<T>& from,
                      const std::vector<size_t>& places) {
  std::vector<T> result;
  for (const size_t place : places) result.push_back(from[place]);
  return result;
}

class SelectedSource final : public SampleSource {
 public:
  SelectedSource(Dataset data, std::span<const size_t> inputs,
                 std::span<const size_t> labels)
      : data_(std::move(data)),
        inputs_(inputs.begin(), inputs.end()),
        labels_(labels.begin(), labels.end()) {}

  int64_t size() const override { return data_.size(); }
  std::vector<TensorSpec> input_specs() const override {
    return chosen(data_.input_specs(), inputs_);
  }
  std::vector<TensorSpec> label_specs() const override {
    return chosen(data_.label_specs(), labels_);
  }
  Batch read(std::span<const int64_t> indices) const override {
    Batch batch = data_.batch(indices);
    batch.inputs = chosen(batch.inputs, inputs_);
    batch.labels = chosen(batch.labels, labels_);
    return batch;
  }
  std::vector<Tensor> known_labels() const override {
    const std::vector<Tensor> known = data_.known_labels();
    return known.empty() ? known : chosen(known, labels_);
  }

 private:
  Dataset data_;
  std::vector<size_t> inputs_;
  std::vector<size_t> labels_;
};

void check_places(std::string_view what, std::span<const size_t> places,
                  size_t count) {
  for (const size_t place : places) {
    if (place < count) continue;
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("index {} of {} is not in [0,{})", place, what, count));
  }
}

/// "[28,28,1], [3]".
std::string shapes_text(const std::vector<TensorSpec>& specs) {
  std::string text;
  for (const TensorSpec& spec : specs) {
    text +=
        fmt::format("{}{}", text.empty() ? "" : ", ", spec.shape.to_string());
  }
  return text.empty() ? "none" : text;
}

bool same_shapes(const std::vector<TensorSpec>& a,
                 const std::vector<TensorSpec>& b) {
  return std::ranges::equal(a, b, {}, &TensorSpec::shape, &TensorSpec::shape);
}

}  // namespace

Dataset Dataset::map(std::function<Batch(Batch)> function) const {
  if (function == nullptr) {
    throw ValueError("missing_value", "dataset", "map() needs a function");
  }
  if (size() == 0) {
    throw ValueError("missing_value", "dataset",
                     "map() needs at least 1 sample");
  }
  return Dataset(std::make_shared<MappedSource>(*this, std::move(function)));
}

Dataset Dataset::concat(const Dataset& other) const {
  const auto inputs = input_specs(), labels = label_specs();
  const auto more_inputs = other.input_specs();
  const auto more_labels = other.label_specs();
  if (!same_shapes(inputs, more_inputs) || !same_shapes(labels, more_labels)) {
    throw ShapeError(
        "shape_mismatch", "dataset",
        fmt::format("cannot concatenate samples {} with labels {} and samples "
                    "{} with labels {}",
                    shapes_text(inputs), shapes_text(labels),
                    shapes_text(more_inputs), shapes_text(more_labels)));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i].dtype == more_labels[i].dtype) continue;
    throw ValueError("dtype_mismatch", "dataset",
                     fmt::format("cannot concatenate labels of {} and {}",
                                 to_string(labels[i].dtype),
                                 to_string(more_labels[i].dtype)));
  }
  if (inputs != more_inputs || labels != more_labels) {
    throw ValueError("invalid_value", "dataset",
                     "cannot concatenate data sets with inputs or labels of "
                     "different names");
  }
  return Dataset(std::make_shared<JoinedSource>(*this, other));
}

Dataset Dataset::with_weights(Tensor weights) const {
  if (weights.empty() || weights.shape() != Shape{size()}) {
    throw ShapeError(
        "shape_mismatch", "dataset",
        fmt::format("needs a weight per sample, [{}], got {}", size(),
                    weights.empty() ? "none" : weights.shape().to_string()));
  }
  if (weights.dtype() != DType::f32) {
    throw ValueError(
        "dtype_mismatch", "dataset",
        fmt::format("weights must be f32, got {}", to_string(weights.dtype())));
  }
  for (const float weight : std::as_const(weights).f32()) {
    if (weight >= 0 && std::isfinite(weight)) continue;
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format("weights must be finite and not negative, got {}", weight));
  }
  return Dataset(std::make_shared<WeightedSource>(*this, std::move(weights)));
}

Dataset Dataset::select(std::span<const size_t> inputs,
                        std::span<const size_t> labels) const {
  if (inputs.empty()) {
    throw ValueError("missing_value", "dataset",
                     "select() needs at least 1 input");
  }
  check_places("inputs", inputs, input_specs().size());
  check_places("labels", labels, label_specs().size());
  return Dataset(std::make_shared<SelectedSource>(*this, inputs, labels));
}

}  // namespace octet
