// Parameter: a tensor of a layer, the options to declare it, and a limit on the
// total size of parameters.
#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/initializer.h>
#include <octet/layers/regularizer.h>
#include <octet/runtime/variable.h>

namespace octet {

/// A tensor of a layer, under its Keras name.
struct Parameter {
  std::string name;       ///< "kernel", "bias", "gamma", "moving_mean", ...
  Variable variable;      ///< leaf, updated in place
  bool trainable = true;  ///< false: a statistic, without gradients
  int channel_axis = -1;  ///< axis of the output channels, for quantization
  Regularizer regularizer = {};  ///< see Model::regularization_loss()
};

/// Options of a parameter declaration.
/// Fields in order: initializer, trainable, fan_in, fan_out, regularizer,
/// channel_axis
struct ParameterOptions {
  Initializer initializer = {};
  bool trainable = true;
  int64_t fan_in = 0;  ///< inputs of a unit, for the initializer
  int64_t fan_out = 0;
  Regularizer regularizer = {};
  int channel_axis = -1;
};

/// While alive, layers built by this thread do not initialize their parameters;
/// the caller must set all of them afterwards.
class SkipInit {
 public:
  SkipInit();
  ~SkipInit();
  SkipInit(const SkipInit&) = delete;
  SkipInit& operator=(const SkipInit&) = delete;

 private:
  friend class Layer;
  static bool wanted();

  bool before_;
};

/// While alive, limits layers built by this thread to `elements` parameter
/// elements in total. Declarations beyond throw ValueError before memory is
/// allocated. For graphs from files.
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
