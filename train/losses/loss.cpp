#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops/arithmetic.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>

#include "target_shape.h"

namespace octet::train {
namespace {

/// Returns the labels of the batch as f32 in the shape of the outputs.
Tensor targets_like(std::string_view loss, const Variable& outputs,
                    const Batch& batch) {
  return targets_for(loss, outputs.shape(), batch.label());
}

}  // namespace

Loss::Loss(std::string name, Function function, const LossTraits& traits)
    : name_(std::move(name)), function_(std::move(function)), traits_(traits) {
  if (name_.empty() || !function_) {
    throw ValueError("missing_value", "Loss",
                     name_.empty() ? "name must not be empty"
                                   : "function must not be empty");
  }
}

Variable Loss::each(const Variable& outputs, const Batch& batch) const {
  const Variable losses = function_(outputs, batch);
  const Shape per_sample{outputs.shape()[0]};
  if (!losses || (losses.shape() != per_sample && losses.shape() != Shape{})) {
    throw ShapeError(
        "shape_mismatch", name_,
        fmt::format(
            "the loss must have shape {}, or [] for a mean, got {}",
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
    throw ValueError("invalid_shape", "mean_loss",
                     "weights require a loss per sample, got their mean []. "
                     "Hint: return [n] from the loss function");
  }
  if (shape.rank() != 1 || shape[0] < 1 ||
      (!weights.empty() && weights.shape() != shape)) {
    throw ShapeError(
        "shape_mismatch", "mean_loss",
        fmt::format("losses and weights must have shape [n], got {} and {}",
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
      Tensor::scalar(static_cast<float>(sum / static_cast<double>(n))), {},
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

Loss Loss::for_model(const Model& model) const {
  if (model.outputs().size() != 1) {
    throw ValueError(
        "count_mismatch", fmt::format("model '{}'", model.name()),
        fmt::format("the loss requires a single output, got {}. Hint: select "
                    "an output with for_model(model, output)",
                    model.outputs().size()));
  }
  return for_model(model, 0);
}

Loss Loss::for_model(const Model& model, size_t output) const {
  Loss adapted =
      traits_.adapt
          ? with_context(
                [&] {
                  return fmt::format("at the end of model '{}'", model.name());
                },
                [&] { return traits_.adapt(output_activation(model, output)); })
          : *this;
  adapted.traits_.metrics =
      train::for_model(adapted.traits_.metrics, model, output);
  return adapted;
}

namespace losses {
namespace {

/// Whether the loss must apply its activation `wanted` ("softmax" or "sigmoid")
/// to outputs of a model that ends in `activation`; `said` is from_logits.
/// Outputs of unknown kind are `unknown`.
/// Throws: ValueError if they are incompatible.
enum class UnknownOutputs { logits, probabilities };
bool takes_logits(std::string_view loss, std::string_view wanted,
                  const std::string& activation, std::optional<bool> said,
                  UnknownOutputs unknown = UnknownOutputs::logits) {
  const std::string_view other = wanted == "softmax" ? "sigmoid" : "softmax";
  if (activation == other) {
    throw ValueError(
        "unsupported_model", loss,
        fmt::format("the model must end in logits or {}, got {}. Hint: use "
                    "losses::{} for {}",
                    wanted, activation,
                    wanted == "softmax" ? "binary_cross_entropy"
                                        : "sparse_categorical_cross_entropy",
                    activation));
  }
  const bool probabilities = activation == wanted;
  if (said && probabilities && *said) {
    throw ValueError(
        "conflicting_options", loss,
        fmt::format("from_logits = true would apply a second {} to a model "
                    "that ends in {}. Hint: omit from_logits, or train "
                    "logits_model(model)",
                    activation, activation));
  }
  if (said && activation == "linear" && !*said) {
    throw ValueError("conflicting_options", loss,
                     "from_logits = false conflicts with a model that ends in "
                     "logits. Hint: omit from_logits");
  }
  if (said) return *said;
  return activation == "linear" ||
         (!probabilities && unknown == UnknownOutputs::logits);
}

/// Whether every row consists of probabilities: nonnegative, with sum 1 up to
/// the rounding of a softmax.
bool are_shares(const Tensor& rows) {
  const Shape& shape = rows.shape();
  if (shape.rank() < 2 || shape.size() < 1 || shape[-1] < 2) return false;
  const auto length = static_cast<size_t>(shape[-1]);
  const auto values = rows.f32();
  for (size_t first = 0; first < values.size(); first += length) {
    double sum = 0;
    for (const float value : values.subspan(first, length)) {
      if (!(value >= 0)) return false;
      sum += double{value};
    }
    if (std::fabs(sum - 1) > 1e-5) return false;
  }
  return true;
}

/// Throws: ValueError for probabilities. For outputs of unknown kind.
void expect_logits(std::string_view loss, const Variable& outputs) {
  if (!are_shares(outputs.value())) return;
  throw ValueError("invalid_value", loss,
                   "expected logits, got probabilities (the sum of each row is "
                   "1). Hint: set .from_logits = false, or use "
                   "loss.for_model(model)");
}

/// Throws: ValueError for rows that are no probabilities. For outputs of
/// unknown kind.
void expect_probabilities(std::string_view loss, const Variable& outputs) {
  if (are_shares(outputs.value())) return;
  throw ValueError("invalid_value", loss,
                   "expected probabilities, got rows whose sum is not 1. Hint: "
                   "set .from_logits = true for logits");
}

const LossOptions kPerSample{.reduction = Reduction::none};

using CrossEntropy =
    std::function<Variable(const Variable& outputs, const Batch& batch,
                           const CrossEntropyOptions& options)>;

/// Builds a cross-entropy loss on the inputs of `activation`.
Loss cross_entropy(const std::string& name, const std::string& activation,
                   const CrossEntropyOptions& options, LabelKind targets,
                   const Metric& metric, const CrossEntropy& compute,
                   UnknownOutputs unknown) {
  const auto made = [=](bool from_logits, bool known, LossTraits traits) {
    return Loss(
        name,
        [=](const Variable& y, const Batch& batch) {
          if (!known && activation == "softmax") {
            from_logits ? expect_logits(name, y)
                        : expect_probabilities(name, y);
          }
          return compute(y, batch,
                         {.label_smoothing = options.label_smoothing,
                          .from_logits = from_logits,
                          .ignore_label = options.ignore_label});
        },
        traits);
  };
  const LossTraits fixed{.labels = targets,
                         .metrics = {metric},
                         .ignore_label = options.ignore_label};
  LossTraits traits = fixed;
  traits.adapt = [=](const std::string& end) {
    const bool known =
        options.from_logits || end == activation || end == "linear";
    return made(
        takes_logits(name, activation, end, options.from_logits, unknown),
        known, fixed);
  };
  return made(options.from_logits.value_or(unknown == UnknownOutputs::logits),
              options.from_logits.has_value(), traits);
}

Loss sparse_loss(const CrossEntropyOptions& options, UnknownOutputs unknown) {
  return cross_entropy(
      "sparse_categorical_cross_entropy", "softmax", options,
      LabelKind::class_index, metrics::accuracy(options.ignore_label),
      [](const Variable& y, const Batch& batch, const CrossEntropyOptions& o) {
        return softmax_cross_entropy(y, batch.label(), o, kPerSample);
      },
      unknown);
}

Loss categorical_loss(const CrossEntropyOptions& options,
                      UnknownOutputs unknown) {
  return cross_entropy(
      "categorical_cross_entropy", "softmax", options, LabelKind::one_hot,
      metrics::accuracy(),
      [](const Variable& y, const Batch& batch, const CrossEntropyOptions& o) {
        return octet::categorical_cross_entropy(y, batch.label(), o,
                                                kPerSample);
      },
      unknown);
}

Loss binary_loss(const CrossEntropyOptions& options, UnknownOutputs unknown) {
  return cross_entropy(
      "binary_cross_entropy", "sigmoid", options, LabelKind::regression,
      metrics::binary_accuracy(),
      [](const Variable& y, const Batch& batch, const CrossEntropyOptions& o) {
        return octet::binary_cross_entropy(
            y, targets_like("binary_cross_entropy", y, batch), o, kPerSample);
      },
      unknown);
}

/// Sets from_logits as the name of the loss says.
CrossEntropyOptions with_logits(std::string_view loss,
                                CrossEntropyOptions options, bool logits) {
  if (options.from_logits && *options.from_logits != logits) {
    throw ValueError(
        "conflicting_options", loss,
        fmt::format("expects {}, got from_logits = {}. Hint: use {}",
                    logits ? "logits" : "probabilities", !logits,
                    logits ? "BCELoss" : "BCEWithLogitsLoss"));
  }
  options.from_logits = logits;
  return options;
}

}  // namespace

Loss sparse_categorical_cross_entropy(const CrossEntropyOptions& options) {
  return sparse_loss(options, UnknownOutputs::logits);
}
Loss categorical_cross_entropy(const CrossEntropyOptions& options) {
  return categorical_loss(options, UnknownOutputs::logits);
}
Loss binary_cross_entropy(const CrossEntropyOptions& options) {
  return binary_loss(options, UnknownOutputs::logits);
}

Loss sparse_categorical_crossentropy(const CrossEntropyOptions& options) {
  return sparse_loss(options, UnknownOutputs::probabilities);
}
Loss categorical_crossentropy(const CrossEntropyOptions& options) {
  return categorical_loss(options, UnknownOutputs::probabilities);
}
Loss binary_crossentropy(const CrossEntropyOptions& options) {
  return binary_loss(options, UnknownOutputs::probabilities);
}

Loss BCEWithLogitsLoss(CrossEntropyOptions options) {
  return binary_cross_entropy(with_logits("BCEWithLogitsLoss", options, true));
}
Loss BCELoss(CrossEntropyOptions options) {
  return binary_cross_entropy(with_logits("BCELoss", options, false));
}

// Source: torch.nn.SmoothL1Loss.
Loss SmoothL1Loss(const SmoothL1Options& options) {
  if (!(options.beta > 0) || !std::isfinite(options.beta)) {
    throw ValueError(
        "out_of_range", "SmoothL1Loss",
        fmt::format("beta must be finite and > 0, got {}", options.beta));
  }
  const Loss loss = huber({.delta = options.beta});
  if (options.beta == 1) return loss;
  return Loss(
      "smooth_l1_loss",
      [loss, beta = options.beta](const Variable& y, const Batch& batch) {
        return loss.each(y, batch) / beta;
      },
      {.labels = LabelKind::regression});
}

Loss mean_squared_error() {
  return Loss("mean_squared_error",
              [](const Variable& y, const Batch& batch) {
                return octet::mean_squared_error(
                    y, targets_like("mean_squared_error", y, batch),
                    kPerSample);
              },
              {.labels = LabelKind::regression});
}

Loss mean_absolute_error() {
  return Loss("mean_absolute_error",
              [](const Variable& y, const Batch& batch) {
                return octet::mean_absolute_error(
                    y, targets_like("mean_absolute_error", y, batch),
                    kPerSample);
              },
              {.labels = LabelKind::regression});
}

Loss huber(const HuberOptions& options) {
  return Loss("huber",
              [options](const Variable& y, const Batch& batch) {
                return octet::huber(y, targets_like("huber", y, batch), options,
                                    kPerSample);
              },
              {.labels = LabelKind::regression});
}

Loss distillation(const Model& teacher, const DistillationOptions& options) {
  DistillationOptions known = options;
  known.teacher_from_logits =
      takes_logits("distillation teacher", "softmax",
                   output_activation(teacher), options.teacher_from_logits);
  const auto made = [&teacher](const DistillationOptions& o,
                               const LossTraits& traits) {
    return Loss(
        "distillation",
        [&teacher, o](const Variable& y, const Batch& batch) {
          return distillation_loss(y, teacher.predict(batch.input()),
                                   batch.label(), o, kPerSample);
        },
        traits);
  };
  const LossTraits fixed{.labels = LabelKind::class_index,
                         .metrics = {metrics::accuracy()}};
  LossTraits traits = fixed;
  traits.adapt = [made, known, fixed](const std::string& end) {
    DistillationOptions o = known;
    o.from_logits =
        takes_logits("distillation", "softmax", end, known.from_logits);
    return made(o, fixed);
  };
  return made(known, traits);
}

}  // namespace losses
}  // namespace octet::train
