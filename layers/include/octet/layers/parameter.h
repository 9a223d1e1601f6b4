// Parameters of layers: initial values, regularization, values.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include <octet/runtime/config.h>
#include <octet/runtime/rng.h>
#include <octet/runtime/variable.h>

namespace octet {

/// Distribution of a parameter's initial values. A value type that compares
/// equal, and converts to a configuration and back.
class Initializer {
 public:
  /// Creates the initializer zeros().
  Initializer() = default;

  /// Fills `values`. `fan_in` and `fan_out` are the numbers of inputs and
  /// outputs of a unit; only variance-scaling initializers use them.
  void operator()(std::span<float> values, int64_t fan_in, int64_t fan_out,
                  Rng& rng) const;

  /// Returns Keras' configuration: {"class_name": "HeNormal", "config": {...}}.
  Config config() const;
  /// Parses that configuration, or a bare name ("he_normal").
  /// Throws: ValueError for an unknown name or numbers out of range.
  static Initializer from_config(const Config& config);

  bool operator==(const Initializer&) const = default;

  /// Kind of distribution; truncated_normal has no values beyond two standard
  /// deviations of the underlying normal distribution, orthogonal draws a
  /// matrix [fan_in,...] with orthogonal rows or columns of length a.
  enum class Spread { constant, uniform, normal, truncated_normal, orthogonal };
  /// Number that scales the variance: none, inputs of a unit, outputs, or the
  /// mean of both.
  enum class Fan { none, in, out, average };
  /// Without a fan: uniform in [a, b), normal with mean a and standard
  /// deviation b, or the constant a. With a fan: mean 0 and standard deviation
  /// sqrt(a / fan).
  /// Throws: ValueError for non-finite numbers, uniform with b < a, or a
  /// negative deviation or scale.
  Initializer(Spread spread, double a, double b = 0, Fan fan = Fan::none);

 private:
  Spread spread_ = Spread::constant;
  Fan fan_ = Fan::none;
  double a_ = 0;
  double b_ = 0;
};

/// Constants: 0, 1 or `value`. Throws: ValueError for a non-finite value.
Initializer zeros();
Initializer ones();
Initializer constant_value(double value);
/// Uniform in [low, high). Throws: ValueError for high < low or non-finite
/// numbers.
Initializer random_uniform(double low, double high);
/// Normal; the truncated form has no values beyond two standard deviations.
/// Throws: ValueError for a negative deviation or non-finite numbers.
Initializer random_normal(double mean, double deviation);
Initializer truncated_normal(double mean, double deviation);
/// Variance 2 / (fan_in + fan_out).
/// Source: Glorot and Bengio, AISTATS 2010, eq. 16.
Initializer glorot_uniform();
Initializer glorot_normal();
/// Variance 2 / fan_in. Source: He et al., arXiv 1502.01852, eq. 10.
Initializer he_uniform();
Initializer he_normal();
/// Variance 1 / fan_in. Source: LeCun et al., "Efficient BackProp", 1998.
Initializer lecun_uniform();
Initializer lecun_normal();

/// Random matrix with orthogonal rows or columns, the fewer of both, of length
/// `gain`; the rows of a kernel are its inputs. Throws: ValueError for a
/// negative or non-finite gain.
/// Source: Saxe et al., arXiv 1312.6120.
Initializer orthogonal(double gain = 1);

/// Regularization loss l1 * sum |w| + l2 * sum w^2, as Keras' L1L2.
struct Regularizer {
  float l1 = 0;  ///< >= 0
  float l2 = 0;  ///< >= 0

  /// Returns whether both factors are 0.
  bool none() const { return l1 == 0 && l2 == 0; }
  bool operator==(const Regularizer&) const = default;
};

/// Returns Keras' configuration, {"class_name": "L1L2", "config": {"l1": ..,
/// "l2": ..}}; null for none.
Config to_config(const Regularizer& regularizer);
/// Parses a configuration of class "L1", "L2" or "L1L2"; null is none.
/// Throws: ValueError for another class or a factor that is negative or not
/// finite.
Regularizer regularizer_from_config(const Config& config);
// Parameter: a tensor of a layer, and the options to declare it.

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
/// channel_axis, first_one, ones
struct ParameterOptions {
  Initializer initializer = {};  ///< initial values; default: zeros()
  bool trainable = true;         ///< false: a statistic, without gradients
  int64_t fan_in = 0;            ///< inputs of a unit, for the initializer
  int64_t fan_out = 0;           ///< outputs of a unit, for the initializer
  Regularizer regularizer = {};  ///< penalty on the parameter; {}: none
  int channel_axis = -1;         ///< see Parameter::channel_axis
  int64_t first_one = 0;         ///< first of the elements that are set to 1
  int64_t ones = 0;              ///< their number, after the initializer
};

}  // namespace octet
