// Parameter: a tensor of a layer, how a layer declares it, and a bound on how
// much may be declared.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/initializer.h>
#include <octet/layers/regularizer.h>
#include <octet/runtime/variable.h>

namespace octet {

/// A tensor that belongs to a layer, under its Keras name.
struct Parameter {
  std::string name;       ///< "kernel", "bias", "gamma", "moving_mean", ...
  Variable variable;      ///< a leaf; updates write into it
  bool trainable = true;  ///< false: a statistic, not moved by gradients
  int channel_axis = -1;  ///< axis of the output channels, for quantization
  Regularizer regularizer = {};  ///< see Model::regularization_loss()
};

/// What a layer says of a parameter when it declares one.
/// Fields in order: initializer, trainable, fan_in, fan_out, regularizer,
/// channel_axis
struct ParameterOptions {
  Initializer initializer = {};
  bool trainable = true;
  int64_t fan_in = 0;  ///< inputs of one unit, for the initializer
  int64_t fan_out = 0;
  Regularizer regularizer = {};
  int channel_axis = -1;
};

/// While it lives, the layers that this thread builds leave what is in their
/// parameters to whoever fills all of them afterwards.
class UnfilledParameters {
 public:
  UnfilledParameters();
  ~UnfilledParameters();
  UnfilledParameters(const UnfilledParameters&) = delete;
  UnfilledParameters& operator=(const UnfilledParameters&) = delete;

 private:
  friend class Layer;
  static bool wanted();

  bool before_;
};

/// While it lives, the layers that this thread builds may declare parameters
/// of `elements` in all; more are refused before memory is taken. For graphs
/// that come from files.
class ParameterLimit {
 public:
  explicit ParameterLimit(int64_t elements);
  ~ParameterLimit();
  ParameterLimit(const ParameterLimit&) = delete;
  ParameterLimit& operator=(const ParameterLimit&) = delete;

 private:
  friend class Layer;
  static void take(const Shape& shape);

  int64_t left_;
  ParameterLimit* before_;
};

}  // namespace octet
