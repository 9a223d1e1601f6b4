// Samples labeled with the outputs of a model.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/train/loss.h>

namespace octet::train {
namespace {

/// Returns the rows of [n,...] at `indices`.
Tensor rows_of(const Tensor& all, std::span<const int64_t> indices) {
  std::vector<int64_t> dims(all.shape().dims().begin(),
                            all.shape().dims().end());
  const auto row = static_cast<size_t>(all.size() / dims[0]);
  dims[0] = std::ssize(indices);
  Tensor result{Shape(dims)};
  const auto from = all.f32();
  const auto to = result.f32();
  for (size_t i = 0; i < indices.size(); ++i) {
    std::memcpy(to.data() + i * row,
                from.data() + static_cast<size_t>(indices[i]) * row,
                row * sizeof(float));
  }
  return result;
}

/// Samples with stored outputs as labels.
class TaughtSource final : public SampleSource {
 public:
  TaughtSource(Dataset samples, std::vector<Tensor> outputs,
               std::vector<TensorSpec> specs)
      : samples_(std::move(samples)),
        outputs_(std::move(outputs)),
        specs_(std::move(specs)) {}

  int64_t size() const override { return samples_.size(); }
  std::vector<TensorSpec> input_specs() const override {
    return samples_.input_specs();
  }
  std::vector<TensorSpec> label_specs() const override { return specs_; }
  std::vector<Tensor> known_labels() const override { return outputs_; }
  Batch read(std::span<const int64_t> indices) const override {
    Batch batch = samples_.batch(indices);
    batch.labels.clear();
    for (const Tensor& output : outputs_) {
      batch.labels.push_back(rows_of(output, indices));
    }
    return batch;
  }

 private:
  Dataset samples_;
  std::vector<Tensor> outputs_;
  std::vector<TensorSpec> specs_;
};

void check_finite(const Tensor& output, const std::string& name) {
  const bool finite = std::ranges::all_of(
      output.f32(), [](float value) { return std::isfinite(value); });
  if (finite) return;
  throw ValueError(
      "not_finite", "labeled_by",
      fmt::format("output '{}' of the teacher has NaN or infinity", name));
}

}  // namespace

Dataset labeled_by(const Model& teacher, const Dataset& data) {
  constexpr int64_t kBatch = 256;
  const Dataset samples = data_for("labeled_by", teacher, data);
  const std::vector<std::string> names = quant::output_names(teacher);
  std::vector<Tensor> outputs;
  std::vector<TensorSpec> specs;
  for (size_t k = 0; k < names.size(); ++k) {
    const auto dims = teacher.outputs()[k].shape().dims();
    specs.push_back({.shape = Shape({dims.begin() + 1, dims.end()}),
                     .dtype = DType::f32,
                     .name = names.size() > 1 ? names[k] : ""});
    outputs.emplace_back(specs.back().batch_shape(samples.size()));
  }
  for (int64_t at = 0; at < samples.size(); at += kBatch) {
    const int64_t count = std::min(kBatch, samples.size() - at);
    const std::vector<Tensor> y =
        teacher.predict(samples.batch(at, count).inputs);
    for (size_t k = 0; k < y.size(); ++k) {
      check_finite(y[k], names[k]);
      const auto row = static_cast<size_t>(y[k].size() / count);
      std::ranges::copy(
          y[k].f32(), outputs[k].f32().data() + static_cast<size_t>(at) * row);
    }
  }
  return Dataset(std::make_shared<TaughtSource>(samples, std::move(outputs),
                                                std::move(specs)));
}

Losses teacher_losses(const Model& student) {
  const std::vector<std::string> names = quant::output_names(student);
  std::vector<OutputLoss> result;
  for (size_t k = 0; k < names.size(); ++k) {
    const std::string function = output_activation(student, k);
    Loss loss = function == "softmax"   ? losses::categorical_cross_entropy()
                : function == "sigmoid" ? losses::binary_cross_entropy()
                                        : losses::mean_squared_error();
    result.emplace_back(names.size() > 1 ? names[k] : "", std::move(loss));
  }
  return result;
}

}  // namespace octet::train
