#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/detail/model_data.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/train/metric.h>

#include "accuracy.h"
#include "checks.h"

namespace octet::train {
namespace {

void check_class(int64_t label, int64_t classes) {
  if (label < 0 || label >= classes) {
    throw ValueError(
        "out_of_range", "ConfusionMatrix",
        fmt::format("class must be in [0, {}), got {}", classes, label));
  }
}

}  // namespace

ConfusionMatrix::ConfusionMatrix(int64_t classes,
                                 std::optional<int64_t> ignore_label)
    : classes_(classes), ignore_label_(ignore_label) {
  check_positive("ConfusionMatrix", "classes", classes);
  counts_.resize(static_cast<size_t>(Shape{classes, classes}.size()));
}

size_t ConfusionMatrix::at(int64_t actual, int64_t predicted) const {
  check_class(actual, classes_);
  check_class(predicted, classes_);
  return static_cast<size_t>(actual * classes_ + predicted);
}

void ConfusionMatrix::add(int64_t actual, int64_t predicted) {
  ++counts_[at(actual, predicted)];
}

void ConfusionMatrix::add(const Tensor& outputs, const Tensor& labels) {
  const std::vector<int64_t> actual =
      labels_of("ConfusionMatrix", outputs, labels, ignore_label_);
  if (outputs.shape()[-1] != classes_) {
    throw ShapeError("shape_mismatch", "ConfusionMatrix",
                     fmt::format("outputs must have shape [n,...,{}], got {}",
                                 classes_, outputs.shape().to_string()));
  }
  const auto length = static_cast<size_t>(classes_);
  for (size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == kIgnored) continue;
    const int64_t answer = largest(outputs.f32().subspan(i * length, length));
    if (answer < 0 || actual[i] == kNoLabel) {
      ++unanswered_;
    } else {
      add(actual[i], answer);
    }
  }
}

int64_t ConfusionMatrix::count(int64_t actual, int64_t predicted) const {
  return counts_[at(actual, predicted)];
}

int64_t ConfusionMatrix::samples() const {
  int64_t sum = unanswered_;
  for (const int64_t each : counts_) sum += each;
  return sum;
}

double ConfusionMatrix::accuracy() const {
  int64_t right = 0;
  for (int64_t i = 0; i < classes_; ++i) right += count(i, i);
  return static_cast<double>(right) / static_cast<double>(samples());
}

double ConfusionMatrix::recall(int64_t label) const {
  int64_t all = 0;
  for (int64_t i = 0; i < classes_; ++i) all += count(label, i);
  return static_cast<double>(count(label, label)) / static_cast<double>(all);
}

double ConfusionMatrix::precision(int64_t label) const {
  int64_t all = 0;
  for (int64_t i = 0; i < classes_; ++i) all += count(i, label);
  return static_cast<double>(count(label, label)) / static_cast<double>(all);
}

double ConfusionMatrix::iou(int64_t label) const {
  int64_t either = 0;
  for (int64_t i = 0; i < classes_; ++i) {
    either += count(label, i) + (i == label ? 0 : count(i, label));
  }
  return static_cast<double>(count(label, label)) / static_cast<double>(either);
}

double ConfusionMatrix::mean_iou() const {
  double sum = 0;
  int64_t known = 0;
  for (int64_t i = 0; i < classes_; ++i) {
    const double one = iou(i);
    if (std::isnan(one)) continue;
    sum += one;
    ++known;
  }
  return sum / static_cast<double>(known);
}

Tensor ConfusionMatrix::normalized() const {
  Tensor result = Tensor::zeros({classes_, classes_});
  const auto to = result.f32();
  for (int64_t i = 0; i < classes_; ++i) {
    int64_t all = 0;
    for (int64_t k = 0; k < classes_; ++k) all += count(i, k);
    if (all == 0) continue;
    for (int64_t k = 0; k < classes_; ++k) {
      to[at(i, k)] = static_cast<float>(static_cast<double>(count(i, k)) /
                                        static_cast<double>(all));
    }
  }
  return result;
}

std::string ConfusionMatrix::to_string(
    std::span<const std::string> names) const {
  if (!names.empty() && std::ssize(names) != classes_) {
    throw ValueError(
        "count_mismatch", "ConfusionMatrix",
        fmt::format("expected {} class names, got {}", classes_, names.size()));
  }
  const auto name = [&](int64_t label) {
    return names.empty() ? fmt::format("{}", label)
                         : names[static_cast<size_t>(label)];
  };
  std::vector<Align> columns(static_cast<size_t>(classes_) + 1, Align::right);
  columns[0] = Align::left;
  TextTable table(std::move(columns));
  std::vector<std::string> header = {"actual"};
  for (int64_t i = 0; i < classes_; ++i) header.push_back(name(i));
  table.add_row(std::move(header));
  for (int64_t i = 0; i < classes_; ++i) {
    std::vector<std::string> row = {name(i)};
    for (int64_t k = 0; k < classes_; ++k) {
      row.push_back(fmt::format("{}", count(i, k)));
    }
    table.add_row(std::move(row));
  }
  return table.to_string();
}

ConfusionMatrix confusion_matrix(const Model& model, const Dataset& data,
                                 const ConfusionMatrixOptions& options) {
  check_positive("confusion_matrix", "batch_size", options.batch_size);
  const Dataset matched = data_for("confusion_matrix", model, data);
  if (model.outputs().size() != 1) {
    throw ValueError("count_mismatch", fmt::format("model '{}'", model.name()),
                     fmt::format("confusion_matrix() requires a single output, "
                                 "got {}",
                                 model.outputs().size()));
  }
  const int64_t classes = model.outputs()[0].shape()[-1];
  if (classes < 2) {
    throw ValueError(
        "unsupported_model", fmt::format("model '{}'", model.name()),
        "confusion_matrix() requires a value per class, got a single value. "
        "Hint: apply a threshold and count with ConfusionMatrix(2).add(actual, "
        "predicted)");
  }
  ConfusionMatrix matrix(classes, options.ignore_label);
  int64_t count = 0;
  for (int64_t first = 0; first < data.size(); first += count) {
    count = std::min(options.batch_size, data.size() - first);
    const Batch batch = matched.batch(first, count);
    matrix.add(model.predict(batch.inputs)[0], batch.label());
  }
  return matrix;
}

}  // namespace octet::train
