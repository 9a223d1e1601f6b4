#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/fit.h>

#include "accuracy.h"
#include "checks.h"

namespace octet::train {
namespace {

/// -log softmax(row)[label]; NaN if the row holds one.
double cross_entropy(std::span<const float> row, int64_t label) {
  // Shifting by the largest logit keeps exp() from overflowing.
  double largest = row[0];
  for (const float x : row) largest = std::max(largest, double{x});
  double sum = 0;
  for (const float x : row) sum += std::exp(double{x} - largest);
  return std::log(sum) + largest - double{row[static_cast<size_t>(label)]};
}

void check_labels(const Tensor& labels, int64_t classes, int64_t first) {
  int64_t sample = first;
  for (const int64_t label : labels.data<int64_t>()) {
    if (label < 0 || label >= classes) {
      throw ValueError(
          fmt::format("evaluate: expected labels in [0,{}), got {} at sample "
                      "{}",
                      classes, label, sample));
    }
    ++sample;
  }
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Evaluation& evaluation) {
  return out << fmt::format("accuracy {:.2f} %, loss {:.4f} ({} samples)",
                            100.0 * evaluation.accuracy, evaluation.loss,
                            evaluation.samples);
}

Evaluation evaluate(const Model& model, const Dataset& data,
                    int64_t batch_size) {
  check_positive("evaluate", "batch_size", batch_size);
  check_data("evaluate", model, data);
  const int64_t classes = model.outputs()[0].shape()[1];
  double loss = 0;
  int64_t right = 0;
  int64_t count = 0;
  for (int64_t first = 0; first < data.size(); first += count) {
    count = std::min(batch_size, data.size() - first);
    const Batch batch = data.batch(first, count);
    check_labels(batch.labels, classes, first);
    const Tensor logits = model.predict(batch.inputs);
    const auto values = logits.f32();
    const auto labels = batch.labels.data<int64_t>();
    const auto length = static_cast<size_t>(classes);
    for (size_t i = 0; i < labels.size(); ++i) {
      loss += cross_entropy(values.subspan(i * length, length), labels[i]);
    }
    right += count_right(logits, batch.labels);
  }
  const auto samples = static_cast<double>(data.size());
  return {.loss = loss / samples,
          .accuracy = static_cast<double>(right) / samples,
          .samples = data.size()};
}

}  // namespace octet::train
