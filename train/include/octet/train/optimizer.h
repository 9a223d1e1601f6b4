// Optimizers: rules that move parameters against their gradients. An
// Optimizer is a handle; SGD and Adam make one.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <octet/runtime/variable.h>

namespace octet::train {

/// One way to update, implemented per optimizer.
class UpdateRule {
 public:
  virtual ~UpdateRule() = default;
  /// Tensors kept per parameter (momentum, moments).
  virtual int slots() const = 0;
  virtual float learning_rate() const = 0;
  /// Moves `value` against `gradient`; `step` counts from 1. The slots start
  /// as zeros.
  virtual void update(std::span<float> value, std::span<const float> gradient,
                      std::span<Tensor> slots, float learning_rate,
                      int64_t step) const = 0;
};

class Optimizer {
 public:
  explicit Optimizer(std::shared_ptr<const UpdateRule> rule);

  /// What step() moves. Throws: ValueError if a variable takes no gradient.
  void attach(std::vector<Variable> parameters);

  /// Moves every attached parameter that has a gradient, with the rule's rate
  /// times `factor`, and clears the gradients.
  void step(float factor = 1.0f);

  float learning_rate() const;
  int64_t steps() const;

 private:
  struct State;
  std::shared_ptr<const UpdateRule> rule_;
  std::shared_ptr<State> state_;
};

struct SGDOptions {
  float learning_rate = 0.01f;
  float momentum = 0.0f;  ///< [0, 1)
  bool nesterov = false;
};

/// v = momentum * v + g; w -= rate * v (Nesterov: rate * (g + momentum * v)).
/// Source: Sutskever et al., "On the importance of initialization and
/// momentum in deep learning", ICML 2013, in the form PyTorch uses.
/// Throws: ValueError for options out of range.
class SGD : public Optimizer {
 public:
  explicit SGD(const SGDOptions& options = {});
};

struct AdamOptions {
  float learning_rate = 1e-3f;
  float beta1 = 0.9f;    ///< [0, 1)
  float beta2 = 0.999f;  ///< [0, 1)
  float epsilon = 1e-7f;
};

/// Source: Kingma and Ba, arXiv 1412.6980, algorithm 1, epsilon as in Keras.
/// Throws: ValueError for options out of range.
class Adam : public Optimizer {
 public:
  Adam();
  explicit Adam(const AdamOptions& options);
};

}  // namespace octet::train
