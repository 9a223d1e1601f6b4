// ConfusionMatrix: counts predictions per pair of actual and predicted class.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::train {

class ConfusionMatrix {
 public:
  /// Labels equal to `ignore_label` are not counted.
  /// Throws: ValueError for classes < 1.
  explicit ConfusionMatrix(int64_t classes,
                           std::optional<int64_t> ignore_label = {});

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
  /// Returns the number of predictions with a NaN.
  int64_t unanswered() const { return unanswered_; }

  /// Correct predictions / samples; NaN without samples.
  double accuracy() const;
  /// Correct predictions of a class / samples of the class; NaN without any.
  double recall(int64_t label) const;
  /// Correct predictions of a class / predictions of the class; NaN without
  /// any.
  double precision(int64_t label) const;
  /// Intersection over union of samples and predictions of a class; NaN without
  /// any.
  double iou(int64_t label) const;
  /// Mean of iou() over the classes for which it is not NaN; NaN without any.
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

/// Fields in order: batch_size, ignore_label
struct ConfusionMatrixOptions {
  int64_t batch_size = 1000;
  std::optional<int64_t> ignore_label = {};  ///< label that is not counted
};

/// Counts the predictions of a single-output model for all samples, or for all
/// pixels of outputs [N,h,w,classes]. Throws: ValueError as evaluate().
ConfusionMatrix confusion_matrix(const Model& model, const Dataset& data,
                                 const ConfusionMatrixOptions& options = {});

}  // namespace octet::train
