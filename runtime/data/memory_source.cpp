#include "memory_source.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/exact_floats.h>
#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

/// u8 values times `scale`.
Tensor scaled(const Tensor& codes, float scale) {
  Tensor values(codes.shape());
  std::ranges::transform(
      codes.data<uint8_t>(), values.f32().begin(),
      [scale](uint8_t code) { return scale * static_cast<float>(code); });
  return values;
}

std::vector<TensorSpec> specs_of(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) {
    const Shape& shape = tensor.shape();
    const bool classes = tensor.dtype() == DType::i64;
    specs.push_back({shape.slice(1, shape.rank()),
                     classes ? DType::i64 : DType::f32, name});
  }
  return specs;
}

class MemorySource final : public SampleSource {
 public:
  MemorySource(std::vector<NamedTensor> inputs, std::vector<NamedTensor> labels,
               float scale)
      : inputs_(std::move(inputs)), labels_(std::move(labels)), scale_(scale) {}

  int64_t size() const override { return inputs_[0].tensor.shape()[0]; }
  std::vector<TensorSpec> input_specs() const override {
    return specs_of(inputs_);
  }
  std::vector<TensorSpec> label_specs() const override {
    return specs_of(labels_);
  }
  std::vector<Tensor> known_labels() const override {
    std::vector<Tensor> all;
    for (const auto& [name, tensor] : labels_) all.push_back(tensor);
    return all;
  }
  Batch read(std::span<const int64_t> indices) const override {
    Batch batch;
    for (const auto& [name, tensor] : inputs_) {
      const Tensor rows = rows_at(tensor, indices);
      batch.inputs.push_back(rows.dtype() == DType::u8 ? scaled(rows, scale_)
                                                       : rows);
    }
    for (const auto& [name, tensor] : labels_) {
      batch.labels.push_back(rows_at(tensor, indices));
    }
    return batch;
  }

 private:
  std::vector<NamedTensor> inputs_;
  std::vector<NamedTensor> labels_;
  float scale_;
};

void check_names(std::string_view what,
                 const std::vector<NamedTensor>& tensors) {
  std::set<std::string_view> names;
  for (const auto& [name, tensor] : tensors) {
    if (name.empty() != tensors[0].name.empty()) {
      throw ValueError(
          "missing_value", "dataset",
          fmt::format("only some {} have names. Hint: name all of them or none",
                      what));
    }
    if (!name.empty() && !names.insert(name).second) {
      throw ValueError("duplicate_name", "dataset",
                       fmt::format("two {} are named '{}'", what, name));
    }
  }
}

void check_input(const Tensor& input) {
  const DType type = input.dtype();
  if (type != DType::f32 && type != DType::u8) {
    throw ValueError("dtype_mismatch", "dataset",
                     fmt::format("inputs must be f32, u8, i32 or i64, got {}",
                                 to_string(type)));
  }
  if (input.shape().rank() < 1) {
    throw ShapeError("invalid_shape", "dataset",
                     "inputs must be [n,...], got a scalar");
  }
}

void check_label(const Tensor& label) {
  if (label.dtype() != DType::i64 && label.dtype() != DType::f32) {
    throw ValueError(
        "dtype_mismatch", "dataset",
        fmt::format(
            "labels must be i64 (class indices) or f32 (targets), got {}",
            to_string(label.dtype())));
  }
  if (label.shape().rank() < 1) {
    throw ShapeError("invalid_shape", "dataset",
                     "labels must be [n,...], got a scalar");
  }
  // A column of class indices is a mistake: it would be one index per position.
  if (label.dtype() == DType::i64 && label.shape().rank() == 2 &&
      label.shape()[1] == 1) {
    throw ShapeError(
        "invalid_shape", "dataset",
        fmt::format("class indices must be [n], or [n,...] per position, got "
                    "{}. Hint: labels.reshaped({{n}})",
                    label.shape().to_string()));
  }
}

void check_scale(const std::vector<NamedTensor>& inputs, float scale) {
  if (!std::isfinite(scale) || scale == 0) {
    throw ValueError(
        "out_of_range", "dataset",
        fmt::format(
            "input_scale must be finite and not 0, got {}{}", scale,
            scale == 0 ? ". Hint: 1 / 255 is 0 in C++; write 1 / 255.0f" : ""));
  }
  const bool floats = std::ranges::any_of(inputs, [](const NamedTensor& each) {
    return each.tensor.dtype() == DType::f32;
  });
  if (floats && scale != 1.0f) {
    throw ValueError(
        "conflicting_options", "dataset",
        fmt::format("input_scale applies to u8 inputs only and must be 1 for "
                    "f32, got {}. Hint: multiply f32 inputs beforehand",
                    scale));
  }
}

}  // namespace

std::shared_ptr<const SampleSource> memory_source(
    std::vector<NamedTensor> inputs, std::vector<NamedTensor> labels,
    float scale) {
  const auto empty = [](const NamedTensor& each) {
    return each.tensor.empty();
  };
  if (inputs.empty() || std::ranges::any_of(inputs, empty) ||
      std::ranges::any_of(labels, empty)) {
    throw ValueError("missing_value", "dataset", "an input or label is empty");
  }
  check_names("inputs", inputs);
  check_names("labels", labels);
  for (auto& [name, tensor] : inputs) {
    tensor = exact_floats(tensor, name.empty() ? "inputs" : name);
  }
  for (const auto& [name, tensor] : inputs) check_input(tensor);
  for (const auto& [name, tensor] : labels) check_label(tensor);
  const Shape& first = inputs[0].tensor.shape();
  for (const auto& [name, tensor] : inputs) {
    if (tensor.shape()[0] == first[0]) continue;
    throw ShapeError(
        "count_mismatch", "dataset",
        fmt::format("inputs must have equal numbers of samples, got {} and {}",
                    first.to_string(), tensor.shape().to_string()));
  }
  for (const auto& [name, tensor] : labels) {
    if (tensor.shape()[0] == first[0]) continue;
    throw ShapeError(
        "count_mismatch", "dataset",
        fmt::format("needs a label per sample, got inputs {} and labels {}",
                    first.to_string(), tensor.shape().to_string()));
  }
  check_scale(inputs, scale);
  return std::make_shared<MemorySource>(std::move(inputs), std::move(labels),
                                        scale);
}

}  // namespace octet
