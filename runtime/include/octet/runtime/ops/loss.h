// Losses: what backward() starts from. They are computed in doubles from the
// f32 values; targets, labels and weights take no gradient.
#pragma once

#include <optional>

#include <octet/runtime/variable.h>

namespace octet {

/// What becomes of the losses l of n samples with weights w (1 without).
enum class Reduction {
  mean,  ///< sum(w * l) / n -> []; Keras' "sum_over_batch_size"
  none,  ///< w * l -> [n]
};

/// How the losses of the samples are weighted and reduced.
/// Fields in order: weights, reduction
struct LossOptions {
  Tensor weights = {};  ///< f32 [n], finite and >= 0, or empty
  Reduction reduction = Reduction::mean;
};

/// Fields in order: label_smoothing, from_logits, ignore_label
struct CrossEntropyOptions {
  /// The share of a target that is spread evenly over the classes (in
  /// binary_cross_entropy: over 0 and 1), [0, 1].
  float label_smoothing = 0.0f;
  /// Whether softmax (sigmoid in binary_cross_entropy) is still to come; it is
  /// if nothing is said. Otherwise outputs are probabilities, and the gradient
  /// goes through the logits that softmax() made them of, or, where something
  /// else made them, through probabilities clipped at 1e-7, as in Keras.
  std::optional<bool> from_logits = {};
  /// Of class numbers: places with this label do not count, as those of 255 in
  /// the masks of Pascal VOC.
  std::optional<int64_t> ignore_label = {};
};

/// -log softmax(logits)[label]; where a sample has several places, pixels of an
/// image, the mean over those that count. A sample without any has a loss of 0.
/// Shapes: outputs [n,...,classes] (f32), labels [n,...] (i64) -> [] or [n].
/// Throws: ShapeError; ValueError for a label outside [0, classes), options
/// out of range, or from_logits with the output of softmax().
Variable softmax_cross_entropy(const Variable& outputs, const Tensor& labels,
                               const CrossEntropyOptions& options = {},
                               const LossOptions& loss_options = {});

/// -sum(targets * log softmax(logits)), the mean over a sample's places. The
/// targets of a place are meant to sum to 1, but need not.
/// Shapes: outputs and targets [n,...,classes] (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for options out of range, an ignore_label, or
/// from_logits with the output of softmax().
Variable categorical_cross_entropy(const Variable& outputs,
                                   const Tensor& targets,
                                   const CrossEntropyOptions& options = {},
                                   const LossOptions& loss_options = {});

/// The mean over a sample's values of -t log s - (1 - t) log(1 - s), where s
/// is the sigmoid of a logit and t its target.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: as categorical_cross_entropy, of sigmoid().
Variable binary_cross_entropy(const Variable& outputs, const Tensor& targets,
                              const CrossEntropyOptions& options = {},
                              const LossOptions& loss_options = {});

/// The mean over a sample's values of (output - target)^2.
/// Shapes: outputs [n,...], targets of the same shape (f32) -> [] or [n].
/// Throws: ShapeError; ValueError for weights out of range.
Variable mean_squared_error(const Variable& outputs, const Tensor& targets,
                            const LossOptions& loss_options = {});

/// As mean_squared_error, of |output - target|; its gradient at 0 is 0.
Variable mean_absolute_error(const Variable& outputs, const Tensor& targets,
                             const LossOptions& loss_options = {});

struct HuberOptions {
  float delta = 1.0f;  ///< > 0: where the square turns into a line
};
/// As mean_squared_error, of e^2 / 2 for |e| <= delta, else
/// delta * |e| - delta^2 / 2. Throws: also ValueError for delta.
/// Source: Huber, "Robust estimation of a location parameter", 1964, with the
/// factors of Keras.
Variable huber(const Variable& outputs, const Tensor& targets,
               const HuberOptions& options = {},
               const LossOptions& loss_options = {});

/// Fields in order: temperature, alpha, label_smoothing, from_logits,
/// teacher_from_logits
struct DistillationOptions {
  float temperature = 1.0f;  ///< T > 0, finite
  float alpha = 0.5f;        ///< the teacher's part, [0, 1]
  float label_smoothing = 0.0f;
  std::optional<bool> from_logits = {};          ///< see CrossEntropyOptions
  std::optional<bool> teacher_from_logits = {};  ///< the same, of `teacher`
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
