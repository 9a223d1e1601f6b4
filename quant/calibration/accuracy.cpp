#include "calibration/accuracy.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::quant {

std::vector<int64_t> classes_of(std::string_view subject, const Model& model,
                                const Dataset& data) {
  const std::vector<TensorSpec> specs = data.label_specs();
  if (specs.size() != 1 || specs[0].dtype != DType::i64 ||
      specs[0].shape.rank() != 0 || model.outputs().size() != 1) {
    return {};
  }
  const Shape output = model.outputs()[0].shape();
  if (output.rank() != 2 || output[1] < 2) return {};
  const Tensor labels = data.labels();
  const auto all = std::as_const(labels).data<int64_t>();
  for (const int64_t label : all) {
    if (label >= 0 && label < output[1]) continue;
    throw ValueError(
        "out_of_range", std::string(subject),
        fmt::format("labels must be in [0,{}), got {}", output[1], label));
  }
  if (std::set<int64_t>(all.begin(), all.end()).size() < 2) return {};
  return {all.begin(), all.end()};
}

double accuracy_of(std::span<const Tensor> outputs,
                   std::span<const int64_t> classes) {
  size_t sample = 0;
  int64_t right = 0;
  for (const Tensor& batch : outputs) {
    const auto width = static_cast<size_t>(batch.shape()[-1]);
    for (size_t at = 0; at < batch.f32().size(); at += width, ++sample) {
      const auto row = batch.f32().subspan(at, width);
      right += std::ranges::max_element(row) - row.begin() == classes[sample];
    }
  }
  return static_cast<double>(right) / static_cast<double>(sample);
}

double score_samples(
    const char* subject, const Model& model, const Dataset& samples,
    const std::function<double(const Model&, const Dataset&)>& score,
    int64_t batch_size) {
  if (score) {
    const double result = score(model, samples);
    if (!std::isnan(result)) return result;
    throw ValueError("not_finite", subject, "score is NaN");
  }
  const auto classes = classes_of(subject, model, samples);
  if (classes.empty()) {
    throw ValueError(
        "missing_value", subject,
        "accuracy needs class labels of an output [n,classes], with at least "
        "two classes among the held-out samples. Hint: more samples, or a "
        "custom score");
  }
  std::vector<Tensor> outputs;
  for (int64_t at = 0; at < samples.size(); at += batch_size) {
    const int64_t count = std::min(batch_size, samples.size() - at);
    outputs.push_back(
        std::move(model.predict(samples.batch(at, count).inputs)[0]));
  }
  return accuracy_of(outputs, classes);
}

}  // namespace octet::quant
