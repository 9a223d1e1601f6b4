// Optimizers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/variable.h>

namespace octet::train {

// Optimizers: update rules for parameters. An Optimizer is a handle; its copies
// share state and parameters. Rules: SGD, Adam, AdamW, RMSprop, Lion, LAMB.

/// Decoupled weight decay, applied before the update as in Keras:
/// w -= w * rate * learning rate for parameters w of at least `min_rank`
/// dimensions. The default excludes biases and the gamma and beta of
/// normalization layers, which have rank 1.
/// Source: Loshchilov and Hutter, arXiv 1711.05101, with the learning rate in
/// place of the schedule's factor.
struct WeightDecay {
  float rate = 0.0f;  ///< finite and >= 0; 0: no weight decay
  int min_rank = 2;   ///< lowest rank of parameters that decay
};

/// The update rule of an optimizer. Immutable: state belongs in the slots.
/// Thread-safe: update() runs in parallel for different parameters.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Returns the number of state tensors per parameter (velocity, moments).
  virtual int slots() const = 0;
  /// Returns the initial learning rate, which set_learning_rate() may replace.
  virtual float learning_rate() const = 0;
  /// Weight decay that Optimizer applies before update().
  virtual WeightDecay weight_decay() const { return {}; }
  /// Returns the name and options; checkpoints compare them.
  virtual Config config() const { return {}; }
  /// Updates `value` from its `gradient`. `step` counts from 1. Slots start as
  /// zeros.
  virtual void update(std::span<float> value, std::span<const float> gradient,
                      std::span<Tensor> slots, float learning_rate,
                      int64_t step) const = 0;
  /// Whether update() treats each element by itself: it may then be called for
  /// parts of a parameter, in parallel.
  virtual bool elementwise() const { return false; }
};

/// State of an Optimizer between two steps.
struct OptimizerState {
  int64_t steps = 0;                        ///< completed steps, >= 0
  std::optional<float> learning_rate = {};  ///< replaces the rule's, if set
  /// State tensors of each attached parameter, in order of attachment.
  std::vector<std::vector<Tensor>> slots = {};
};

/// Behavior of Optimizer::step() if no attached parameter has a gradient.
enum class MissingGradients {
  refuse,  ///< throw a ValueError
  ignore,  ///< count the step without an update
};

/// Updates the attached parameters by a rule. Not thread-safe.
class Optimizer {
 public:
  /// Creates an optimizer without parameters.
  /// Throws: ValueError for a null rule.
  explicit Optimizer(std::shared_ptr<const UpdateRule> rule);

  /// Returns a new optimizer with the same rule, without parameters or steps.
  Optimizer fresh() const { return Optimizer(rule_); }

  /// Sets the parameters to update and resets slots and step count.
  /// Throws: ValueError if a variable is repeated or does not require a
  /// gradient.
  void attach(std::vector<Variable> parameters);

  /// Decays and updates every attached parameter that has a gradient, with the
  /// learning rate times `factor`, and clears the gradients. Gradients
  /// accumulate over all backward() calls since the last step.
  /// Throws: ValueError if no attached parameter has a gradient: backward() was
  /// not called, or the attached parameters belong to a different model (a
  /// quantized model has separate parameters); if no parameters are attached;
  /// for a factor that is negative or not finite.
  void step(float factor = 1.0f,
            MissingGradients missing = MissingGradients::refuse);

  /// Clears the gradients of the attached parameters.
  void zero_grad() const;
  /// Calls zero_grad(), loss.backward() and step(). Updates each parameter
  /// during the backward pass, as soon as its gradient is complete and the pass
  /// needs its value no more, and frees the gradient: bit-identical to separate
  /// calls, with less memory. Gradients of other parameters add to grad().
  /// Throws: as backward() and step(); a gradient function that throws may
  /// leave some parameters updated.
  void minimize(const Variable& loss, float factor = 1.0f,
                MissingGradients missing = MissingGradients::refuse);

  /// Returns the learning rate: the rule's, unless set_learning_rate() replaced
  /// it.
  float learning_rate() const;
  /// Sets the learning rate of all further steps, also after attach().
  /// Throws: ValueError unless the rate is finite and >= 0.
  void set_learning_rate(float rate);
  /// Returns the number of steps: 0 after attach(), that of the state after
  /// restore().
  int64_t steps() const;
  /// Returns the rule's configuration.
  Config config() const { return rule_->config(); }

  /// Returns the state. Its tensors share memory with the optimizer: clone them
  /// to preserve them.
  OptimizerState state() const;
  /// Restores a state. REQUIRES: attach() with the same number and shapes of
  /// parameters. Throws: ValueError, ShapeError for a state that does not
  /// match; the optimizer is then unchanged.
  void restore(const OptimizerState& state);

 private:
  void expect_attached() const;
  float rate_of(float factor) const;
  [[noreturn]] void refuse_missing() const;
  void update(size_t parameter, const Tensor& gradient, float rate);

  struct State;
  std::shared_ptr<const UpdateRule> rule_;
  std::shared_ptr<State> state_;
};

/// Options of SGD.
/// Fields in order: learning_rate, momentum, nesterov, weight_decay,
/// decay_min_rank
struct SGDOptions {
  float learning_rate = 0.01f;  ///< >= 0
  float momentum = 0.0f;        ///< decay of the velocity, [0, 1)
  bool nesterov = false;        ///< requires momentum > 0
  float weight_decay = 0.0f;    ///< >= 0, see WeightDecay
  int decay_min_rank = 2;       ///< see WeightDecay::min_rank
};

/// v = momentum * v - rate * g; w += v (Nesterov: momentum * v - rate * g).
/// Source: Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013; keras/src/optimizers/sgd.py.
/// Throws: ValueError for options out of range.
class SGD : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  explicit SGD(const SGDOptions& options = {});
};

/// Options of Adam and LAMB.
/// Fields in order: learning_rate, beta1, beta2, epsilon, weight_decay,
/// decay_min_rank
struct AdamOptions {
  float learning_rate = 1e-3f;  ///< >= 0
  float beta1 = 0.9f;           ///< decay of the mean gradient, [0, 1)
  float beta2 = 0.999f;         ///< decay of the mean square, [0, 1)
  float epsilon = 1e-7f;        ///< added to the denominator, > 0
  float weight_decay = 0.0f;    ///< >= 0, see WeightDecay
  int decay_min_rank = 2;       ///< see WeightDecay::min_rank
};

/// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon) in
/// step t. Source: Kingma and Ba, arXiv 1412.6980, algorithm 1, epsilon as in
/// Keras.
/// Throws: ValueError for options out of range.
class Adam : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  Adam();
  explicit Adam(const AdamOptions& options);
};

/// Options of AdamW.
/// Fields in order: learning_rate, beta1, beta2, epsilon, weight_decay,
/// decay_min_rank
struct AdamWOptions {
  float learning_rate = 1e-3f;  ///< >= 0
  float beta1 = 0.9f;           ///< decay of the mean gradient, [0, 1)
  float beta2 = 0.999f;         ///< decay of the mean square, [0, 1)
  float epsilon = 1e-7f;        ///< added to the denominator, > 0
  float weight_decay = 0.004f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;       ///< see WeightDecay::min_rank
};

/// Adam with decoupled weight decay, with Keras' defaults.
/// Throws: ValueError for options out of range.
class AdamW : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  explicit AdamW(const AdamWOptions& options = {});
};

/// Options of RMSprop.
/// Fields in order: learning_rate, rho, momentum, epsilon, centered,
/// weight_decay, decay_min_rank
struct RMSpropOptions {
  float learning_rate = 1e-3f;  ///< >= 0
  float rho = 0.9f;             ///< decay of the mean square, [0, 1)
  float momentum = 0.0f;        ///< decay of the velocity, [0, 1)
  float epsilon = 1e-7f;        ///< inside the square root, > 0
  bool centered = false;      ///< divide by the standard deviation, not the RMS
  float weight_decay = 0.0f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;     ///< see WeightDecay::min_rank
};

/// v = rho * v + (1 - rho) * g^2; step = rate * g / sqrt(v + epsilon), with
/// v - mean(g)^2 in place of v if centered; m = momentum * m + step; w -= m.
/// Source: Hinton, "Neural Networks for Machine Learning", lecture 6e;
/// keras/src/optimizers/rmsprop.py.
/// Throws: ValueError for options out of range.
class RMSprop : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  explicit RMSprop(const RMSpropOptions& options = {});
};

/// Options of Lion.
/// Fields in order: learning_rate, beta1, beta2, weight_decay, decay_min_rank
struct LionOptions {
  float learning_rate = 1e-3f;  ///< >= 0; use a tenth to a third of Adam's
  float beta1 = 0.9f;           ///< weight of the momentum in a step, [0, 1)
  float beta2 = 0.99f;          ///< decay of the momentum, [0, 1)
  float weight_decay = 0.0f;    ///< >= 0, see WeightDecay
  int decay_min_rank = 2;       ///< see WeightDecay::min_rank
};

/// w -= rate * sign(beta1 * m + (1 - beta1) * g), then
/// m = beta2 * m + (1 - beta2) * g; sign(0) is 0.
/// Source: Chen et al., arXiv 2302.06675, algorithm 2; keras/src/optimizers/
/// lion.py. Throws: ValueError for options out of range.
class Lion : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  explicit Lion(const LionOptions& options = {});
};

/// Options of LAMB: those of Adam, with the same defaults.
using LAMBOptions = AdamOptions;

/// Adam's step r = m' / (sqrt(v') + epsilon) with bias-corrected moments,
/// scaled to the norm of the parameter: w -= rate * r * |w| / |r|, or w -= rate
/// * r if either norm is 0. Source: You et al., arXiv 1904.00962, algorithm 2,
/// with the weight decay decoupled; keras/src/optimizers/lamb.py.
/// Throws: ValueError for options out of range.
class LAMB : public Optimizer {
 public:
  /// Creates an optimizer without parameters.
  explicit LAMB(const LAMBOptions& options = {});
};

// Gradient clipping, between backward() and Optimizer::step().

/// Returns the global L2 norm of all gradients. Parameters without a gradient
/// are skipped.
double gradient_norm(std::span<const Variable> parameters);

/// Scales all gradients by a common factor so that their global norm is at most
/// `limit`, and returns the norm before clipping. If it is not finite,
/// gradients stay unchanged. Parameters without a gradient are skipped.
/// Throws: ValueError unless the limit is finite and above 0, or if none of the
/// parameters has a gradient.
double clip_gradients_by_norm(std::span<const Variable> parameters,
                              float limit);

/// Clamps each gradient element to [-limit, limit]; NaN stays NaN.
/// Throws: as clip_gradients_by_norm().
void clip_gradients_by_value(std::span<const Variable> parameters, float limit);

}  // namespace octet::train
