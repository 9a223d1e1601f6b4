#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops/loss.h>
#include <octet/train/loss.h>

#include "accuracy.h"

namespace octet::train {
namespace {

/// The batch's labels as numbers in the shape of the outputs, where there are
/// as many; else as they are, for the loss to refuse.
Tensor targets_like(const Variable& outputs, const Batch& batch) {
  const Tensor targets = as_numbers(batch.labels);
  if (targets.shape()[0] != outputs.shape()[0] ||
      targets.size() != outputs.shape().size()) {
    return targets;
  }
  return targets.reshaped(outputs.shape());
}

}  // namespace

Loss::Loss(std::string name, Function function, const LossTraits& traits)
    : name_(std::move(name)), function_(std::move(function)), traits_(traits) {
  if (name_.empty() || !function_) {
    throw ValueError(
        fmt::format("loss: expected a name and a function, got {}",
                    name_.empty() ? "an empty name" : "an empty function"));
  }
}

Variable Loss::each(const Variable& outputs, const Batch& batch) const {
  const Variable losses = function_(outputs, batch);
  const Shape per_sample{outputs.shape()[0]};
  if (!losses || (losses.shape() != per_sample && losses.shape() != Shape{})) {
    throw ShapeError(fmt::format(
        "{}: expected losses {} or their mean [], got {}", name_,
        per_sample.to_string(),
        losses ? losses.shape().to_string() : std::string("nothing")));
  }
  return losses;
}

Variable Loss::operator()(const Variable& outputs, const Batch& batch) const {
  return mean_loss(each(outputs, batch), batch.weights);
}

Variable mean_loss(const Variable& losses, const Tensor& weights) {
  const Shape& shape = losses.shape();
  if (shape.rank() == 0) {
    if (weights.empty()) return losses;
    throw ValueError(
        "mean_loss: expected losses per sample to weight, got their mean. "
        "Hint: let the loss return [n]");
  }
  if (shape.rank() != 1 || shape[0] < 1 ||
      (!weights.empty() && weights.shape() != shape)) {
    throw ShapeError(fmt::format(
        "mean_loss: expected losses [n] and weights [n], got {} and {}",
        shape.to_string(), weights.shape().to_string()));
  }
  const auto n = static_cast<size_t>(shape[0]);
  const auto values = losses.value().f32();
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    sum += weights.empty() ? double{values[i]}
                           : double{weights.f32()[i]} * double{values[i]};
  }
  return record(
      "mean_loss", {losses},
      Tensor::scalar(static_cast<float>(sum / static_cast<double>(n))),
      [weights, n](const Tensor& dy) {
        const float share = dy.item() / static_cast<float>(n);
        Tensor dx = Tensor::full({static_cast<int64_t>(n)}, share);
        if (!weights.empty()) {
          for (size_t i = 0; i < n; ++i) {
            dx.f32()[i] *= weights.f32()[i];
          }
        }
        return std::vector{dx};
      });
}

namespace losses {

Loss sparse_categorical_cross_entropy(const CrossEntropyOptions& options) {
  return Loss(
      "sparse_categorical_cross_entropy",
      [s = options.label_smoothing](const Variable& y, const Batch& batch) {
        return softmax_cross_entropy(
            y, batch.labels,
            {.label_smoothing = s, .reduction = Reduction::none});
      },
      {.targets = Targets::classes, .metrics = {metrics::accuracy()}});
}

Loss categorical_cross_entropy(const CrossEntropyOptions& options) {
  return Loss(
      "categorical_cross_entropy",
      [s = options.label_smoothing](const Variable& y, const Batch& batch) {
        return octet::categorical_cross_entropy(
            y, batch.labels,
            {.label_smoothing = s, .reduction = Reduction::none});
      },
      {.targets = Targets::rows, .metrics = {metrics::accuracy()}});
}

Loss binary_cross_entropy(const CrossEntropyOptions& options) {
  return Loss(
      "binary_cross_entropy",
      [s = options.label_smoothing](const Variable& y, const Batch& batch) {
        return octet::binary_cross_entropy(
            y, targets_like(y, batch),
            {.label_smoothing = s, .reduction = Reduction::none});
      },
      {.targets = Targets::values, .metrics = {metrics::binary_accuracy()}});
}

Loss mean_squared_error() {
  return Loss("mean_squared_error",
              [](const Variable& y, const Batch& batch) {
                return octet::mean_squared_error(
                    y, targets_like(y, batch), {.reduction = Reduction::none});
              },
              {.targets = Targets::values});
}

Loss mean_absolute_error() {
  return Loss("mean_absolute_error",
              [](const Variable& y, const Batch& batch) {
                return octet::mean_absolute_error(
                    y, targets_like(y, batch), {.reduction = Reduction::none});
              },
              {.targets = Targets::values});
}

Loss huber(const HuberOptions& options) {
  return Loss("huber",
              [delta = options.delta](const Variable& y, const Batch& batch) {
                return octet::huber(
                    y, targets_like(y, batch),
                    {.delta = delta, .reduction = Reduction::none});
              },
              {.targets = Targets::values});
}

Loss distillation(const Model& teacher, const DistillationOptions& options) {
  return Loss("distillation",
              [&teacher, options](const Variable& y, const Batch& batch) {
                return distillation_loss(
                    y, teacher.predict(batch.inputs), batch.labels,
                    {.temperature = options.temperature,
                     .alpha = options.alpha,
                     .label_smoothing = options.label_smoothing,
                     .reduction = Reduction::none});
              },
              {.targets = Targets::classes, .metrics = {metrics::accuracy()}});
}

}  // namespace losses
}  // namespace octet::train
