// Initializer: distribution of a parameter's initial values. A value type that
// compares equal, and converts to a configuration and back.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/config.h>
#include <octet/runtime/rng.h>

namespace octet {

class Initializer {
 public:
  /// Zeros.
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

  enum class Spread { constant, uniform, normal, truncated_normal };
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

Initializer zeros();
Initializer ones();
Initializer constant_value(double value);
Initializer random_uniform(double low, double high);
Initializer random_normal(double mean, double deviation);
/// Normal, truncated at two standard deviations.
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

}  // namespace octet
