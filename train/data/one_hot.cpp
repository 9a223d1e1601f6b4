#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

#include "checks.h"

namespace octet::train {
namespace {

Shape with_classes(const Shape& places, int64_t classes) {
  std::vector<int64_t> dims(places.dims().begin(), places.dims().end());
  dims.push_back(classes);
  return Shape(dims);
}

class OneHotSource final : public SampleSource {
 public:
  OneHotSource(Dataset data, int64_t classes)
      : data_(std::move(data)), classes_(classes) {}

  int64_t size() const override { return data_.size(); }
  std::vector<TensorSpec> input_specs() const override {
    return data_.input_specs();
  }
  std::vector<TensorSpec> label_specs() const override {
    const TensorSpec label = data_.label_specs()[0];
    return {{with_classes(label.shape, classes_), DType::f32, label.name}};
  }
  Batch read(std::span<const int64_t> indices) const override {
    Batch batch = data_.batch(indices);
    batch.label() = one_hot(batch.label(), classes_);
    return batch;
  }

 private:
  Dataset data_;
  int64_t classes_;
};

}  // namespace

Dataset one_hot(const Dataset& data, int64_t classes) {
  check_positive("one_hot", "classes", classes);
  if (data.label_type() != DType::i64) {
    throw ValueError("dtype_mismatch", "one_hot",
                     fmt::format("labels must be i64 class indices, got {}",
                                 to_string(data.label_type())));
  }
  return Dataset(std::make_shared<OneHotSource>(data, classes));
}

Tensor one_hot(const Tensor& labels, int64_t classes) {
  Tensor result = Tensor::zeros(with_classes(labels.shape(), classes));
  float* row = result.f32().data();
  for (const int64_t label : labels.data<int64_t>()) {
    if (label < 0 || label >= classes) {
      throw ValueError(
          "out_of_range", "one_hot",
          fmt::format("labels must be in [0, {}), got {}", classes, label));
    }
    row[label] = 1;
    row += classes;
  }
  return result;
}

}  // namespace octet::train
