// Loss: what fit minimises; a function of a model's output and a batch.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/ops/loss.h>
#include <octet/runtime/variable.h>
#include <octet/train/metric.h>

namespace octet::train {

/// What a loss expects as the label of a batch; checked before the training
/// begins.
enum class Targets {
  any,
  classes,  ///< i64 [n,...], for outputs [n,...,classes]
  rows,     ///< f32 [n,...,classes] like the outputs
  values,   ///< f32 or i64 like the outputs, but for axes of 1 at the end
};

class Loss;

struct LossTraits {
  Targets targets = Targets::any;
  Metrics metrics = {};  ///< reported unless others are asked for
  /// Of Targets::classes: a label that takes no part.
  std::optional<int64_t> ignore_label = {};
  /// The loss for a model that ends in an activation, see
  /// output_activation(); empty: the same for all.
  std::function<Loss(const std::string& activation)> adapt = {};
};

class Loss {
 public:
  /// One loss per sample, [n], or their mean, [], which takes no weights.
  using Function =
      std::function<Variable(const Variable& outputs, const Batch& batch)>;

  /// Throws: ValueError for an empty function or name.
  Loss(std::string name, Function function, const LossTraits& traits = {});
  /// The loss that Octet, Keras or PyTorch calls so: see loss_names.h.
  /// Throws: NotFoundError with the nearest names.
  Loss(const char* name);
  Loss(const std::string& name);

  const std::string& name() const { return name_; }
  Targets targets() const { return traits_.targets; }
  const Metrics& metrics() const { return traits_.metrics; }
  std::optional<int64_t> ignore_label() const { return traits_.ignore_label; }

  /// The loss, and the metrics it brings, as they are for the outputs of
  /// `model`: on logits or on probabilities. fit() and evaluate() ask for it.
  /// Throws: ValueError for a model that ends in what the loss does not go
  /// with.
  [[nodiscard]] Loss for_model(const Model& model) const;
  /// As they are for one of the outputs.
  [[nodiscard]] Loss for_model(const Model& model, size_t output) const;

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

/// What one output of a model is trained on.
struct OutputLoss {
  OutputLoss(Loss l) : loss(std::move(l)) {}
  OutputLoss(std::string o, Loss l, float w = 1, Metrics m = {})
      : output(std::move(o)),
        loss(std::move(l)),
        weight(w),
        metrics(std::move(m)) {}

  /// The layer that the output comes from, without a wrapper; "" for all: they
  /// are for the outputs in their order.
  std::string output;
  Loss loss;             ///< sees a Batch with the labels of this output alone
  float weight = 1;      ///< of its loss in the sum, finite and >= 0
  Metrics metrics = {};  ///< none: those of the loss
};

/// The loss of the only output, or of several, which are added:
///   .loss = losses::huber()
///   .loss = "huber"
///   .loss = {{"box", losses::huber(), 0.5f},
///            {"class", losses::sparse_categorical_cross_entropy()}}
/// Outputs without one are not trained.
class Losses {
 public:
  Losses(Loss loss) : outputs_{std::move(loss)} {}
  Losses(const char* name) : Losses(Loss(name)) {}
  Losses(const std::string& name) : Losses(Loss(name)) {}
  Losses(std::initializer_list<OutputLoss> outputs) : outputs_(outputs) {}
  Losses(std::vector<OutputLoss> outputs) : outputs_(std::move(outputs)) {}

  const std::vector<OutputLoss>& outputs() const { return outputs_; }

 private:
  std::vector<OutputLoss> outputs_;
};

/// The mean over samples of losses that each() gave.
/// Shapes: losses [n] or [], weights [n] or empty -> [].
/// Throws: ShapeError; ValueError for weights on a mean.
Variable mean_loss(const Variable& losses, const Tensor& weights = {});

namespace losses {

// The ops of octet/runtime/ops/loss.h with the labels of the batch, one loss
// per sample. Unless `from_logits` is given, fit() and evaluate() see from the
// end of the model whether it gives logits. Elsewhere, and where that end does
// not tell, logits are expected: the output of a softmax and rows that each sum
// to 1 are refused.

/// On class numbers, one a sample or, for outputs [n,h,w,classes] and masks
/// [n,h,w], one a pixel; `ignore_label` leaves pixels out. Metric: accuracy.
Loss sparse_categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// On targets [n,...,classes]. Metric: accuracy.
Loss categorical_cross_entropy(const CrossEntropyOptions& options = {});
/// On targets in [0, 1]; with a sigmoid, not a softmax. Metric:
/// binary_accuracy.
Loss binary_cross_entropy(const CrossEntropyOptions& options = {});

Loss mean_squared_error();
Loss mean_absolute_error();

Loss huber(const HuberOptions& options = {});

/// distillation_loss from what `teacher` gives for the same inputs in
/// inference. Keeps a reference: the teacher must outlive the loss. Either may
/// end in a softmax. Metric: accuracy.
Loss distillation(const Model& teacher,
                  const DistillationOptions& options = {});
Loss distillation(const Model&& teacher,
                  const DistillationOptions& options = {}) = delete;

}  // namespace losses
}  // namespace octet::train
