// Metrics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

// Metrics: values reported besides the loss, as means over samples.

namespace octet::train {

/// Value of a metric, or of another quantity of a fit such as "val_loss".
struct MetricValue {
  std::string name;  ///< of the metric: "accuracy"
  double value = 0;  ///< may be NaN
};

/// A function that returns a value per sample; the mean is reported. For a
/// model with several outputs, a metric receives a single output and a Batch
/// with the labels of that output. Class weights and sample weights are
/// ignored, as in Keras.
struct Metric {
  /// Computes the metric of each sample.
  /// Shapes: outputs [n,...] f32, a batch of n samples -> n values.
  using Function =
      std::function<std::vector<double>(const Tensor& outputs, const Batch&)>;

  Metric() = default;
  /// Creates a custom metric. fit() and evaluate() reject an empty name or
  /// function.
  Metric(std::string metric_name, Function function,
         std::function<Metric(const std::string& activation)> adapted = {})
      : name(std::move(metric_name)),
        each(std::move(function)),
        adapt(std::move(adapted)) {}
  /// The metric of an Octet or Keras name: see metric_named() in loss.h.
  /// Throws: NotFoundError with similar names.
  Metric(const char* known);
  Metric(const std::string& known);

  /// Unique among the metrics of an output. "loss", "learning_rate",
  /// "gradient_norm" and names that begin with "val_" are reserved.
  std::string name;
  Function each;  ///< computes the metric; required
  /// Returns the variant of the metric for an output activation, see
  /// output_activation(). Empty if the metric does not depend on it.
  std::function<Metric(const std::string& activation)> adapt = {};
};

/// Metrics of an output.
using Metrics = std::vector<Metric>;

/// Adapts the metrics to the activation of an output of `model`. fit() and
/// evaluate() call it.
Metrics for_model(const Metrics& metrics, const Model& model, size_t output);

namespace metrics {

/// "accuracy": 1 if the label equals the argmax of the outputs (the lowest
/// class among equal maxima), otherwise 0. A row with a NaN counts as wrong.
/// One-hot or soft labels count as their argmax. For several predictions per
/// sample (pixels of a mask): the share of correct pixels among the pixels not
/// labeled `ignore_label`, 0 if none is left. With a single class output it is
/// binary_accuracy(), as in Keras.
/// Shapes: outputs [n,...,classes]; labels [n,...] i64, or f32 of the outputs'
/// shape.
Metric accuracy(std::optional<int64_t> ignore_label = {});

/// "top_5_accuracy": 1 if the label is among the k largest outputs; of equal
/// outputs, lower classes rank first. A row with a NaN counts as wrong.
/// Shapes: as accuracy(). Throws: ValueError for k < 1.
Metric top_k_accuracy(int64_t k = 5);

/// "binary_accuracy": the share of outputs for which output > `threshold`
/// agrees with label > 0.5. The default threshold is 0.5 in fit() and
/// evaluate() if the model ends in a sigmoid or softmax; otherwise, and in
/// custom loops, it is 0, for logits.
/// Shapes: outputs [n,...]; labels of the same shape except for trailing axes
/// of size 1, f32 or i64.
Metric binary_accuracy(std::optional<float> threshold = {});

/// "mean_absolute_error", "mean_squared_error": mean over a sample's outputs.
/// Shapes: outputs [n,...]; labels of the same shape except for trailing axes
/// of size 1.
Metric mean_absolute_error();
Metric mean_squared_error();

}  // namespace metrics
}  // namespace octet::train

namespace octet::train {

// ConfusionMatrix: counts predictions per pair of actual and predicted class.

/// Number of samples, or pixels, for each pair of actual and predicted class.
class ConfusionMatrix {
 public:
  /// Labels equal to `ignore_label` are not counted.
  /// Throws: ValueError for classes < 1.
  explicit ConfusionMatrix(int64_t classes,
                           std::optional<int64_t> ignore_label = {});

  /// Returns the number of classes, >= 1.
  int64_t classes() const { return classes_; }

  /// Counts a prediction. Throws: ValueError for a class outside [0, classes).
  void add(int64_t actual, int64_t predicted);
  /// Counts the argmax of every row; a row with a NaN counts as unanswered().
  /// Shapes: outputs [n,...,classes]; labels [n,...] i64, or f32 of the
  /// outputs' shape.
  /// Throws: ShapeError; ValueError for a label out of range.
  void add(const Tensor& outputs, const Tensor& labels);

  /// Returns the number of samples, or pixels, of class `actual` predicted as
  /// `predicted`. Throws: ValueError for a class outside [0, classes).
  int64_t count(int64_t actual, int64_t predicted) const;
  /// Returns the number of counted samples or pixels.
  int64_t samples() const;
  /// Returns the number of samples or pixels whose outputs, or soft labels,
  /// have a NaN. They count in samples() and as wrong in accuracy(), but not
  /// for any class.
  int64_t unanswered() const { return unanswered_; }

  /// Returns correct predictions / samples(); NaN without samples.
  double accuracy() const;
  /// Returns correct predictions of a class / samples of the class; NaN without
  /// any. Throws: ValueError for a class outside [0, classes), as precision()
  /// and iou().
  double recall(int64_t label) const;
  /// Returns correct predictions of a class / predictions of the class; NaN
  /// without any.
  double precision(int64_t label) const;
  /// Returns intersection over union of the samples and predictions of a class;
  /// NaN without any.
  double iou(int64_t label) const;
  /// Returns the mean of iou() over the classes for which it is not NaN; NaN
  /// without any.
  double mean_iou() const;

  /// Returns the counts with each row divided by its sum, f32 [actual,
  /// predicted]. Rows without samples are zero.
  Tensor normalized() const;

  /// Returns a table of counts with a row per actual class. Classes are labeled
  /// by `names`, or by index if empty.
  /// Throws: ValueError for a wrong number of names.
  std::string to_string(std::span<const std::string> names = {}) const;

 private:
  size_t at(int64_t actual, int64_t predicted) const;

  int64_t classes_;
  std::optional<int64_t> ignore_label_;
  std::vector<int64_t> counts_;  // [actual, predicted]
  int64_t unanswered_ = 0;
};

/// Options of confusion_matrix().
/// Fields in order: batch_size, ignore_label
struct ConfusionMatrixOptions {
  int64_t batch_size = 1000;                 ///< samples per batch, >= 1
  std::optional<int64_t> ignore_label = {};  ///< label that is not counted
};

/// Counts the predictions of a single-output model for all samples, or for all
/// pixels of outputs [N,h,w,classes]. Throws: ValueError as evaluate().
ConfusionMatrix confusion_matrix(const Model& model, const Dataset& data,
                                 const ConfusionMatrixOptions& options = {});

}  // namespace octet::train
