// Loss functions. Computed in double precision from f32 values; targets, labels
// and weights get no gradient.
#pragma once

#include <optional>

#include <octet/runtime/variable.h>

namespace octet {

/// Reduction of the losses l of n samples with weights w (default 1).
enum class Reduction {
  mean,  ///< sum(w * l) / n -> []; Keras' "sum_over_batch_size"
  none,  ///< w * l -> [n]
};

/// Sample weights and reduction of a loss.
/// Fields in order: weights, reduction
struct LossOptions {
  Tensor weights = {};  ///< of samples, f32 [n], finite, >= 0; empty: all 1
  Reduction reduction = Reduction::mean;  ///< of the losses of the samples
};

/// Options of the cross-entropy losses.
/// Fields in order: label_smoothing, from_logits, ignore_label
struct CrossEntropyOptions {
  /// Share of the target distributed evenly over the classes (in
  /// binary_cross_entropy: over 0 and 1), in [0, 1]. Default: 0.
  float label_smoothing = 0.0f;
  /// Whether outputs are logits (default) or probabilities after softmax
  /// (sigmoid in binary_cross_entropy). For probabilities, the gradient is
  /// taken with respect to the logits if they were computed by softmax(), else
  /// through probabilities clipped at 1e-7, as in Keras.
  std::optional<bool> from_logits = {};
  /// Class index of positions to ignore, such as 255 in Pascal VOC masks. For
  /// softmax_cross_entropy() only. Default: none.
  std::optional<int64_t> ignore_label = {};
};

/// -log softmax(logits)[label], averaged over the positions (pixels) of a
/// sample that are not ignored. A sample without any has loss 0.
/// Shapes: outputs [n,...,classes] (f32), labels [n,...] (i64) -> [] or [n].
/// Throws: ShapeError; ValueError for a label outside [0, classes), options out
/// of range, or from_logits with outputs of softmax().
Variable softmax_cross_entropy(const Variable& outputs, const Tensor& labels,
                               const CrossEntropyOptions& options = {},
                               const LossOptions& loss_options = {});

/// -sum(targets * log softmax(logits)), averaged over the positions of a
/// sample. Targets of a position should sum to 1 (not checked).
/// Shapes: outputs and targets [n,...,classes] (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for options out of range, an ignore_label, or
/// from_logits with outputs of softmax().
Variable categorical_cross_entropy(const Variable& outputs,
                                   const Tensor& targets,
                                   const CrossEntropyOptions& options = {},
                                   const LossOptions& loss_options = {});

/// Mean over a sample of -t log s - (1 - t) log(1 - s), with s the sigmoid of a
/// logit and t its target.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: as categorical_cross_entropy, for sigmoid().
Variable binary_cross_entropy(const Variable& outputs, const Tensor& targets,
                              const CrossEntropyOptions& options = {},
                              const LossOptions& loss_options = {});

/// Mean over a sample of (output - target)^2.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for weights out of range.
Variable mean_squared_error(const Variable& outputs, const Tensor& targets,
                            const LossOptions& loss_options = {});

/// Mean over a sample of |output - target|; the gradient at 0 is 0.
/// Shapes and throws: as mean_squared_error.
Variable mean_absolute_error(const Variable& outputs, const Tensor& targets,
                             const LossOptions& loss_options = {});

/// Options of huber().
struct HuberOptions {
  float delta = 1.0f;  ///< end of the quadratic range, > 0, finite
};
/// Mean over a sample of e^2 / 2 for |e| <= delta, else delta * |e| - delta^2 /
/// 2.
/// Shapes and throws: as mean_squared_error; ValueError for delta.
/// Source: Huber, "Robust estimation of a location parameter", 1964, with the
/// factors of Keras.
Variable huber(const Variable& outputs, const Tensor& targets,
               const HuberOptions& options = {},
               const LossOptions& loss_options = {});

/// Options of distillation_loss().
/// Fields in order: temperature, alpha, label_smoothing, from_logits,
/// teacher_from_logits
struct DistillationOptions {
  float temperature = 1.0f;      ///< T > 0, finite
  float alpha = 0.5f;            ///< weight of the teacher's term, [0, 1]
  float label_smoothing = 0.0f;  ///< of `labels`, as in CrossEntropyOptions
  std::optional<bool> from_logits = {};          ///< as in CrossEntropyOptions
  std::optional<bool> teacher_from_logits = {};  ///< likewise for `teacher`
};
/// (1 - alpha) * softmax_cross_entropy
///   + alpha * T^2 * KL(softmax(teacher / T) || softmax(logits / T)).
/// Shapes: outputs and teacher [n,classes], labels [n] (i64) -> [] or [n].
/// Throws: ShapeError; ValueError for a label or options out of range.
/// Source: Hinton, Vinyals and Dean, arXiv 1503.02531, section 2.
Variable distillation_loss(const Variable& outputs, const Tensor& teacher,
                           const Tensor& labels,
                           const DistillationOptions& options = {},
                           const LossOptions& loss_options = {});

/// l1 * sum |x| + l2 * sum x^2; the gradient of |x| at 0 is 0.
/// Shapes: any -> [].
Variable regularization_loss(const Variable& x, float l1, float l2);

}  // namespace octet
