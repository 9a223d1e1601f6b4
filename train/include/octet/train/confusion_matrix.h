// ConfusionMatrix: which classes a model takes for which.
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
  /// Labels that are `ignore_label` are not counted.
  /// Throws: ValueError for classes < 1.
  explicit ConfusionMatrix(int64_t classes,
                           std::optional<int64_t> ignore_label = {});

  int64_t classes() const { return classes_; }

  /// Counts one answer. Throws: ValueError for a class outside [0, classes).
  void add(int64_t actual, int64_t predicted);
  /// Counts the first of the largest outputs of every row; a row with a NaN
  /// has no answer and is counted in unanswered().
  /// Shapes: outputs [n,...,classes]; labels [n,...] i64, or as the outputs,
  /// f32.
  /// Throws: ShapeError; ValueError for a label out of range.
  void add(const Tensor& outputs, const Tensor& labels);

  /// Samples, or places of them, of class `actual` taken for `predicted`.
  /// Throws: ValueError for a class outside [0, classes).
  int64_t count(int64_t actual, int64_t predicted) const;
  int64_t samples() const;
  int64_t unanswered() const { return unanswered_; }

  /// The share of right answers in all samples; NaN without samples.
  double accuracy() const;
  /// Of the samples of a class, the share that was found; NaN without any.
  double recall(int64_t label) const;
  /// Of the answers of a class, the share that was right; NaN without any.
  double precision(int64_t label) const;
  /// Intersection over union: of what is of a class or taken for it, the share
  /// that is both. NaN without any.
  double iou(int64_t label) const;
  /// The mean over the classes that have one; NaN without any.
  double mean_iou() const;

  /// Each row divided by its sum: [actual, predicted]; rows without samples
  /// are zeros.
  Tensor normalized() const;

  /// A table of counts, a row per actual class. Classes are called by their
  /// numbers unless `names` are given.
  /// Throws: ValueError for another number of names.
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
  std::optional<int64_t> ignore_label = {};  ///< not counted
};

/// Of a model's answers to all samples, or to all their places: pixels of
/// [N,h,w,classes]. Throws: ValueError as evaluate.
ConfusionMatrix confusion_matrix(const Model& model, const Dataset& data,
                                 const ConfusionMatrixOptions& options = {});

}  // namespace octet::train
