// Losses, also by their Keras and PyTorch names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/variable.h>
#include <octet/train/metric.h>

// Loss: the function of a model's output and a batch that fit minimizes.

namespace octet::train {

/// Kind of labels that a loss requires; checked before training.
enum class LabelKind {
  any,          ///< not checked
  class_index,  ///< class indices, i64 [n,...], for outputs [n,...,classes]
  one_hot,      ///< one-hot or soft labels, f32 of the outputs' shape
  regression,   ///< f32 or i64 of the outputs' shape, except for
                ///< trailing axes of size 1
};

class Loss;

/// Labels and metrics of a Loss.
struct LossTraits {
  LabelKind labels = LabelKind::any;  ///< kind of labels it requires
  Metrics metrics = {};               ///< default metrics of the loss
  /// For LabelKind::class_index: label that is excluded from the loss.
  std::optional<int64_t> ignore_label = {};
  /// Returns the variant of the loss for an output activation, see
  /// output_activation(). Empty if the loss does not depend on it.
  std::function<Loss(const std::string& activation)> adapt = {};
};

/// The function of a model's output and a batch that fit() minimizes.
/// Immutable.
class Loss {
 public:
  /// Returns a loss per sample, [n], or their mean, []. A mean does not support
  /// sample weights.
  using Function =
      std::function<Variable(const Variable& outputs, const Batch& batch)>;

  /// Creates a custom loss.
  /// Throws: ValueError for an empty function or name.
  Loss(std::string name, Function function, const LossTraits& traits = {});
  /// The loss of an Octet, Keras or PyTorch name: see loss_named().
  /// Throws: NotFoundError with similar names.
  Loss(const char* name);
  Loss(const std::string& name);

  /// Returns the name, such as "huber".
  const std::string& name() const { return name_; }
  /// Returns LossTraits::labels.
  LabelKind labels() const { return traits_.labels; }
  /// Returns LossTraits::metrics.
  const Metrics& metrics() const { return traits_.metrics; }
  /// Returns LossTraits::ignore_label.
  std::optional<int64_t> ignore_label() const { return traits_.ignore_label; }

  /// Adapts the loss and its metrics to the end of a single-output model:
  /// logits or probabilities. fit() and evaluate() call it.
  /// Throws: ValueError if the loss does not support the model's activation.
  [[nodiscard]] Loss for_model(const Model& model) const;
  /// As above, for output number `output`.
  [[nodiscard]] Loss for_model(const Model& model, size_t output) const;

  /// Returns sum(weight * loss) / n over the n samples of the batch, with
  /// weights of 1 if the batch has none, as Keras' "sum_over_batch_size".
  /// Shapes: outputs [n,...] -> []. Throws: ShapeError, ValueError.
  Variable operator()(const Variable& outputs, const Batch& batch) const;

  /// Evaluates the loss function and checks the shape of its result: [n], or []
  /// for a mean.
  Variable each(const Variable& outputs, const Batch& batch) const;

 private:
  std::string name_;
  Function function_;
  LossTraits traits_;
};

/// Loss and metrics of an output.
struct OutputLoss {
  /// Initialize the fields. A loss alone belongs to the output at its position.
  OutputLoss(Loss l) : loss(std::move(l)) {}
  OutputLoss(std::string o, Loss l, float w = 1, Metrics m = {})
      : output(std::move(o)),
        loss(std::move(l)),
        weight(w),
        metrics(std::move(m)) {}

  /// Name of the output's layer, without a wrapper. If all names are empty,
  /// losses belong to the outputs in order.
  std::string output;
  Loss loss;             ///< receives a Batch with the labels of this output
  float weight = 1;      ///< factor of the loss in the sum, finite and >= 0
  Metrics metrics = {};  ///< default: the metrics of the loss
};

/// The loss of a single output, or the weighted sum of losses of several:
///   .loss = losses::huber()
///   .loss = "huber"
///   .loss = {{"box", losses::huber(), 0.5f},
///            {"class", losses::sparse_categorical_cross_entropy()}}
/// Outputs without a loss are not trained.
class Losses {
 public:
  /// Convert a loss, the name of a loss (see loss_named()), or a list of
  /// losses. Throws: NotFoundError for an unknown name.
  Losses(Loss loss) : outputs_{std::move(loss)} {}
  Losses(const char* name) : Losses(Loss(name)) {}
  Losses(const std::string& name) : Losses(Loss(name)) {}
  Losses(std::initializer_list<OutputLoss> outputs) : outputs_(outputs) {}
  Losses(std::vector<OutputLoss> outputs) : outputs_(std::move(outputs)) {}

  /// Returns the losses; a single entry without a name for a single loss.
  const std::vector<OutputLoss>& outputs() const { return outputs_; }

 private:
  std::vector<OutputLoss> outputs_;
};

/// Returns the weighted mean of losses that Loss::each() returned.
/// Shapes: losses [n] or [], weights [n] or empty -> [].
/// Throws: ShapeError; ValueError for weights on a mean.
Variable mean_loss(const Variable& losses, const Tensor& weights = {});

namespace losses {

// The ops of octet/runtime/ops/nn.h on the labels of a batch, per sample.
// Unless `from_logits` is set, fit() and evaluate() detect from the end of the
// model whether its outputs are logits. Elsewhere, and if the end is not
// conclusive, logits are assumed: outputs of a softmax, and rows that all sum
// to 1, are rejected.

/// Cross-entropy with class indices, per sample, or per pixel for outputs
/// [n,h,w,classes] and masks [n,h,w]; `ignore_label` excludes pixels. Metric:
/// accuracy.
Loss sparse_categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// Cross-entropy with one-hot or soft labels [n,...,classes]. Metric: accuracy.
Loss categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// Cross-entropy with labels in [0, 1]; for a sigmoid, not a softmax. Metric:
/// binary_accuracy.
Loss binary_cross_entropy(const CrossEntropyOptions& options = {});

/// Mean of the squared, or absolute, errors of a sample's outputs. Labels:
/// LabelKind::regression. No default metric.
Loss mean_squared_error();
Loss mean_absolute_error();

/// Huber loss, octet::huber(): quadratic for errors up to `delta`, linear
/// beyond. Labels: LabelKind::regression. No default metric. A `delta` out of
/// range is an error when the loss is computed.
Loss huber(const HuberOptions& options = {});

/// distillation_loss() with the predictions of `teacher` for the same inputs.
/// The loss references the teacher, which must outlive it. Teacher and student
/// may end in logits or a softmax. Metric: accuracy.
/// Throws: ValueError for a teacher with several outputs, a sigmoid at its end,
/// or an end that contradicts `teacher_from_logits`.
Loss distillation(const Model& teacher,
                  const DistillationOptions& options = {});
Loss distillation(const Model&& teacher,
                  const DistillationOptions& options = {}) = delete;

}  // namespace losses
}  // namespace octet::train

// Keras and PyTorch names of losses and metrics:
//
//   train::fit(model, data, {.loss = "mse", .metrics = {"mae"}});
//   train::fit(model, data, {.loss = train::losses::CrossEntropyLoss()});
//
// String names ignore case and underscores. With string names, logits or
// probabilities are detected from the end of the model, not from the name.

namespace octet::train {

/// Returns Octet's name of a loss: "mean_squared_error" for "mse",
/// "MeanSquaredError" and "MSELoss"; "" for an unknown name.
std::string loss_name(std::string_view name);

/// Returns the loss of this name, with default options.
/// Throws: NotFoundError with similar names.
Loss loss_named(std::string_view name);

/// Returns the metric of this name: "accuracy", "acc",
/// "sparse_categorical_accuracy", "top_3_accuracy", "mae",
/// "MeanSquaredError", ...
/// Throws: NotFoundError with similar names.
Metric metric_named(std::string_view name);

namespace losses {

/// Keras' functions and classes. As there, outputs are probabilities unless
/// from_logits is set. fit() and evaluate() detect logits at the end of the
/// model even so, for which Keras' result would be meaningless; elsewhere, rows
/// of a (sparse) categorical loss that do not sum to 1 are rejected.
Loss sparse_categorical_crossentropy(const CrossEntropyOptions& options = {});
Loss categorical_crossentropy(const CrossEntropyOptions& options = {});
Loss binary_crossentropy(const CrossEntropyOptions& options = {});
inline Loss SparseCategoricalCrossentropy(
    const CrossEntropyOptions& options = {}) {
  return sparse_categorical_crossentropy(options);
}
inline Loss CategoricalCrossentropy(const CrossEntropyOptions& options = {}) {
  return categorical_crossentropy(options);
}
inline Loss BinaryCrossentropy(const CrossEntropyOptions& options = {}) {
  return binary_crossentropy(options);
}
/// Keras' names of regression losses.
inline Loss mse() { return mean_squared_error(); }
inline Loss mae() { return mean_absolute_error(); }
inline Loss MeanSquaredError() { return mean_squared_error(); }
inline Loss MeanAbsoluteError() { return mean_absolute_error(); }
inline Loss Huber(const HuberOptions& options = {}) { return huber(options); }

/// PyTorch's class, for class indices and logits; probabilities are detected or
/// rejected. Classes are the last axis. Unlike in PyTorch, no label is ignored
/// by default, and positions are averaged per sample before the mean over
/// samples, which differs if samples have unequal numbers of ignored positions.
inline Loss CrossEntropyLoss(const CrossEntropyOptions& options = {}) {
  return sparse_categorical_cross_entropy(options);
}
/// PyTorch's class, for logits. Throws: ValueError for a model that ends in a
/// sigmoid, or from_logits = false.
Loss BCEWithLogitsLoss(CrossEntropyOptions options = {});
/// PyTorch's class, for probabilities. Throws: ValueError for a model that ends
/// in logits, or from_logits = true.
Loss BCELoss(CrossEntropyOptions options = {});
/// PyTorch's names of regression losses.
inline Loss MSELoss() { return mean_squared_error(); }
inline Loss L1Loss() { return mean_absolute_error(); }
inline Loss HuberLoss(const HuberOptions& options = {}) {
  return huber(options);
}
/// Options of SmoothL1Loss().
struct SmoothL1Options {
  float beta = 1.0f;  ///< > 0: end of the quadratic range
};
/// Huber loss with delta = beta, divided by beta; PyTorch's class. Named
/// "smooth_l1_loss". Throws: ValueError for beta.
Loss SmoothL1Loss(const SmoothL1Options& options = {});

}  // namespace losses

namespace metrics {

/// Keras' functions and classes: other names of the metrics in metric.h.
/// accuracy() accepts class indices and one-hot labels.
inline Metric acc() { return accuracy(); }
inline Metric sparse_categorical_accuracy() { return accuracy(); }
inline Metric categorical_accuracy() { return accuracy(); }
inline Metric top_k_categorical_accuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric sparse_top_k_categorical_accuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric mse() { return mean_squared_error(); }
inline Metric mae() { return mean_absolute_error(); }
inline Metric Accuracy() { return accuracy(); }
inline Metric SparseCategoricalAccuracy() { return accuracy(); }
inline Metric CategoricalAccuracy() { return accuracy(); }
inline Metric BinaryAccuracy(std::optional<float> threshold = {}) {
  return binary_accuracy(threshold);
}
inline Metric TopKCategoricalAccuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric SparseTopKCategoricalAccuracy(int64_t k = 5) {
  return top_k_accuracy(k);
}
inline Metric MeanSquaredError() { return mean_squared_error(); }
inline Metric MeanAbsoluteError() { return mean_absolute_error(); }

}  // namespace metrics
// Conversion between models that end in logits and models that end in
// probabilities (softmax or sigmoid).

/// Returns the Keras name of the activation of the model's single output. The
/// activation may be a layer or the option `activation` of a layer, inside a
/// wrapper or a nested model, and followed by layers that only reshape.
/// "sigmoid", "relu", ...; "softmax" only for a softmax over a sample's last
/// axis; "linear" for logits of a linear layer, or of a layer with an option
/// `activation`; "" for functions without a name, and for other layers.
/// Throws: ValueError for several outputs.
std::string output_activation(const Model& model);
/// As above, for output number `output`.
/// Throws: ValueError for an index out of range.
std::string output_activation(const Model& model, size_t output);

/// Returns a copy of a model without its final softmax or sigmoid, with the
/// same weights, scales and layer names. A model that ends in logits is copied
/// unchanged. Accepts float and quantized models.
/// Throws: ValueError for any other output.
Model logits_model(const Model& model);

/// Returns a copy of a model that ends in logits, followed by a softmax over
/// the last axis, or by a sigmoid for a single value per sample. A model that
/// ends in a softmax or sigmoid is copied unchanged. Accepts float and
/// quantized models. Throws: ValueError for any other output.
Model probability_model(const Model& model);

// Training without labels: the outputs of a teacher are the labels.
//
//   const Dataset taught = labeled_by(model, data);
//   fit(int8, taught, {.loss = teacher_losses(int8)});

/// Returns the samples with the outputs of `teacher`, f32, as labels in place
/// of their own. Runs the teacher once on all samples and stores its outputs.
/// Throws: ShapeError for samples of other shapes; ValueError without samples,
/// or for NaN or infinity in an output.
Dataset labeled_by(const Model& teacher, const Dataset& data);

/// Returns the losses of a student on labeled_by(): cross-entropy with the
/// teacher's probabilities for outputs that end in a softmax or sigmoid, mean
/// squared error for others, such as logits and regression. The accuracy of a
/// softmax is the share of samples with the teacher's class.
Losses teacher_losses(const Model& student);

}  // namespace octet::train
