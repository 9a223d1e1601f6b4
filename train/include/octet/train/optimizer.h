// Optimizers: rules that move parameters against their gradients. An
// Optimizer is a handle, whose copies have state and parameters in common;
// SGD, Adam, AdamW, RMSprop, Lion and LAMB make one.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/variable.h>

namespace octet::train {

/// Decoupled weight decay, before the update and as Keras': a parameter w of
/// at least `min_rank` dimensions becomes w - w * rate * learning rate. Biases
/// and the scales and offsets of normalizations are of rank 1, so they are
/// left as they are unless `min_rank` says otherwise.
/// Source: Loshchilov and Hutter, arXiv 1711.05101, with the rate in place of
/// the schedule's factor.
struct WeightDecay {
  float rate = 0.0f;
  int min_rank = 2;
};

/// One way to update, implemented per optimizer.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Tensors kept per parameter (momentum, moments).
  virtual int slots() const = 0;
  virtual float learning_rate() const = 0;
  /// What Optimizer does to the parameters before update().
  virtual WeightDecay weight_decay() const { return {}; }
  /// Its name and options, which checkpoints compare.
  virtual Config config() const { return {}; }
  /// Moves `value` against `gradient`; `step` counts from 1. The slots start
  /// as zeros.
  virtual void update(std::span<float> value, std::span<const float> gradient,
                      std::span<Tensor> slots, float learning_rate,
                      int64_t step) const = 0;
};

/// What an Optimizer remembers from step to step.
struct OptimizerState {
  int64_t steps = 0;
  std::optional<float> learning_rate = {};  ///< in place of the rule's
  /// Of each attached parameter, in their order.
  std::vector<std::vector<Tensor>> slots = {};
};

/// What Optimizer::step() does where none of its parameters has a gradient.
enum class MissingGradients {
  refuse,  ///< throws: the loss does not depend on the attached parameters
  ignore,  ///< counts a step that moves nothing
};

class Optimizer {
 public:
  explicit Optimizer(std::shared_ptr<const UpdateRule> rule);

  /// Another one with the same rule, without parameters or steps.
  Optimizer fresh() const { return Optimizer(rule_); }

  /// What step() moves. Throws: ValueError if a variable takes no gradient.
  void attach(std::vector<Variable> parameters);

  /// Decays and moves every attached parameter that has a gradient, with the
  /// learning rate times `factor`, and clears the gradients. Gradients of
  /// several backward() since the last step have added up.
  /// Throws: ValueError if no attached parameter has a gradient: backward() was
  /// not called, or another model trains than the one whose parameters are
  /// attached, as a quantized model has its own.
  void step(float factor = 1.0f,
            MissingGradients missing = MissingGradients::refuse);

  /// Clears the gradients of the attached parameters, as step() does.
  void zero_grad() const;
  /// backward() of a loss and step(). What gradients there were are dropped.
  /// Throws: as both.
  void minimize(const Variable& loss);

  /// The rule's, unless another was set.
  float learning_rate() const;
  /// For this and all later steps; attach() keeps it.
  /// Throws: ValueError unless the rate is finite and >= 0.
  void set_learning_rate(float rate);
  int64_t steps() const;
  /// The rule's.
  Config config() const { return rule_->config(); }

  /// The tensors are the optimizer's own: clone what is kept.
  OptimizerState state() const;
  /// After attach() to as many parameters of the same shapes.
  /// Throws: ValueError, ShapeError for what does not fit; nothing is changed.
  void restore(const OptimizerState& state);

 private:
  void expect_attached() const;

  struct State;
  std::shared_ptr<const UpdateRule> rule_;
  std::shared_ptr<State> state_;
};

/// Fields in order: learning_rate, momentum, nesterov, weight_decay,
/// decay_min_rank
struct SGDOptions {
  float learning_rate = 0.01f;
  float momentum = 0.0f;  ///< [0, 1)
  bool nesterov = false;
  float weight_decay = 0.0f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;
};

/// v = momentum * v - rate * g; w += v (Nesterov: momentum * v - rate * g).
/// Source: Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013; keras/src/optimizers/sgd.py.
/// Throws: ValueError for options out of range.
class SGD : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options = {});
};

/// Fields in order: learning_rate, beta1, beta2, epsilon, weight_decay,
/// decay_min_rank
struct AdamOptions {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;    ///< [0, 1)
  float beta2 = 0.999f;  ///< [0, 1)
  float epsilon = 1e-7f;
  float weight_decay = 0.0f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;
};

/// Source: Kingma and Ba, arXiv 1412.6980, algorithm 1, epsilon as in Keras.
/// Throws: ValueError for options out of range.
class Adam : public Optimizer {
 public:
  Adam();
  explicit Adam(const AdamOptions& options);
};

/// Fields in order: learning_rate, beta1, beta2, epsilon, weight_decay,
/// decay_min_rank
struct AdamWOptions {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;    ///< [0, 1)
  float beta2 = 0.999f;  ///< [0, 1)
  float epsilon = 1e-7f;
  float weight_decay = 0.004f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;
};

/// Adam with weight decay, under its usual name and with Keras' default.
/// Throws: ValueError for options out of range.
class AdamW : public Optimizer {
 public:
  explicit AdamW(const AdamWOptions& options = {});
};

/// Fields in order: learning_rate, rho, momentum, epsilon, centered,
/// weight_decay, decay_min_rank
struct RMSpropOptions {
  float learning_rate = 1e-3f;
  float rho = 0.9f;           ///< [0, 1)
  float momentum = 0.0f;      ///< [0, 1)
  float epsilon = 1e-7f;      ///< under the root
  bool centered = false;      ///< divide by the deviation, not the magnitude
  float weight_decay = 0.0f;  ///< >= 0, see WeightDecay
  int decay_min_rank = 2;
};

/// v = rho * v + (1 - rho) * g^2; step = rate * g / sqrt(v + epsilon), of v
/// less the squared mean of g if centered; m = momentum * m + step; w -= m.
/// Source: Hinton, "Neural Networks for Machine Learning", lecture 6e;
/// keras/src/optimizers/rmsprop.py.
/// Throws: ValueError for options out of range.
class RMSprop : public Optimizer {
 public:
  explicit RMSprop(const RMSpropOptions& options = {});
};

/// Fields in order: learning_rate, beta1, beta2, weight_decay, decay_min_rank
struct LionOptions {
  float learning_rate = 1e-3f;  ///< a tenth to a third of Adam's
  float beta1 = 0.9f;           ///< [0, 1)
  float beta2 = 0.99f;          ///< [0, 1)
  float weight_decay = 0.0f;    ///< >= 0, see WeightDecay
  int decay_min_rank = 2;
};

/// w -= rate * sign(beta1 * m + (1 - beta1) * g), then
/// m = beta2 * m + (1 - beta2) * g; sign(0) is 0.
/// Source: Chen et al., arXiv 2302.06675, algorithm 2; keras/src/optimizers/
/// lion.py. Throws: ValueError for options out of range.
class Lion : public Optimizer {
 public:
  explicit Lion(const LionOptions& options = {});
};

using LAMBOptions = AdamOptions;

/// Adam's step r = m' / (sqrt(v') + epsilon), both corrected for bias, as long
/// as the parameter is: w -= rate * r * |w| / |r|, or rate * r where one of the
/// norms is 0.
/// Source: You et al., arXiv 1904.00962, algorithm 2, with the weight decay
/// decoupled; keras/src/optimizers/lamb.py.
/// Throws: ValueError for options out of range.
class LAMB : public Optimizer {
 public:
  explicit LAMB(const LAMBOptions& options = {});
};

}  // namespace octet::train
