// Loss: what fit minimises; a function of a model's outputs and a batch.
#pragma once

#include <functional>
#include <string>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/variable.h>
#include <octet/train/metric.h>

namespace octet::train {

/// What a loss expects in Batch::labels; checked before the training begins.
enum class Targets {
  any,
  classes,  ///< i64 [n], for outputs [n,classes]
  rows,     ///< f32 [n,classes] like the outputs
  values,   ///< as many numbers as outputs: f32, or i64 [n]
};

struct LossTraits {
  Targets targets = Targets::any;
  Metrics metrics = {};  ///< reported unless others are asked for
};

class Loss {
 public:
  /// One loss per sample, [n], or their mean, [], which takes no weights.
  using Function =
      std::function<Variable(const Variable& outputs, const Batch& batch)>;

  /// Throws: ValueError for an empty function or name.
  Loss(std::string name, Function function, const LossTraits& traits = {});

  const std::string& name() const { return name_; }
  Targets targets() const { return traits_.targets; }
  const Metrics& metrics() const { return traits_.metrics; }

  /// sum(weight * loss) / n over a batch's samples, the weights those of the
  /// batch or 1. As Keras' "sum_over_batch_size".
  /// Shapes: outputs [n,...] -> []. Throws: ShapeError, ValueError.
  Variable operator()(const Variable& outputs, const Batch& batch) const;

  /// What the function gives, checked: [n], or [] for a mean.
  Variable each(const Variable& outputs, const Batch& batch) const;

 private:
  std::string name_;
  Function function_;
  LossTraits traits_;
};

/// The mean over samples of losses that each() gave.
/// Shapes: losses [n] or [], weights [n] or empty -> [].
/// Throws: ShapeError; ValueError for weights on a mean.
Variable mean_loss(const Variable& losses, const Tensor& weights = {});

namespace losses {

struct CrossEntropyOptions {
  float label_smoothing = 0.0f;  ///< [0, 1]
};

/// On logits and class numbers. Metric: accuracy.
Loss sparse_categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// On logits and targets [n,classes]. Metric: accuracy.
Loss categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// On logits and targets in [0, 1]. Metric: binary_accuracy.
Loss binary_cross_entropy(const CrossEntropyOptions& options = {});

Loss mean_squared_error();
Loss mean_absolute_error();

struct HuberOptions {
  float delta = 1.0f;  ///< > 0
};
Loss huber(const HuberOptions& options = {});

struct DistillationOptions {
  float temperature = 1.0f;  ///< > 0
  float alpha = 0.5f;        ///< the teacher's part, [0, 1]
  float label_smoothing = 0.0f;
};
/// Cross-entropy mixed with the divergence from what `teacher` says of the
/// same inputs in inference; see distillation_loss. Keeps a reference: the
/// teacher must outlive the loss. Metric: accuracy.
Loss distillation(const Model& teacher,
                  const DistillationOptions& options = {});

}  // namespace losses
}  // namespace octet::train
