// Observers: statistics of tensors during calibration.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Rule for the range of an activation. All but `ema` and `last_value` are
/// independent of the batch size, bit for bit.
/// Source: NVIDIA, "Integer Quantization for Deep Learning Inference", arXiv
/// 2004.09602, section 4.
enum class Calibration {
  max,  ///< largest magnitude: min-max of a symmetric range
  ema,  ///< moving average of the batches' largest magnitudes
  /// percentile of the magnitudes; the largest if the percentile is zero
  percentile,
  last_value,  ///< largest magnitude of the last batch
  mse,         ///< least mean square quantization error
  /// least Kullback-Leibler divergence between the distributions of values and
  /// quantized values.
  /// Source: S. Migacz, "8-bit inference with TensorRT", GTC 2017; for empty
  /// bins see quant/README.md
  entropy,
};

/// Rule for the ranges of weights that are not live, per channel or per tensor.
enum class WeightRange {
  max,  ///< largest magnitude
  mse,  ///< fraction of the largest magnitude with the least square error
};

class RangeObserver;

/// Fields in order: method, percentile, ema_rate, weights, observer,
/// batch_size, samples, seed
struct CalibrationOptions {
  Calibration method = Calibration::percentile;
  float percentile = 99.99f;  ///< for Calibration::percentile, [50, 100]
  float ema_rate = 0.01f;  ///< for Calibration::ema: weight of a batch, (0, 1]
  /// For weights with fixed or learned scales. Default: `max`, only for weights
  /// without scales.
  std::optional<WeightRange> weights = {};
  /// Factory of a custom observer per quantizer, replacing `method`.
  std::function<std::unique_ptr<RangeObserver>()> observer = {};
  // For calibrate() with a Dataset; ignored by observers:
  int64_t batch_size = 256;
  int64_t samples = 0;  ///< size of the random subset; 0: all
  uint64_t seed = 0;    ///< of the subset
};

/// Collects the range of a tensor. Not thread-safe. Derive from it for
/// CalibrationOptions::observer.
class RangeObserver {
 public:
  virtual ~RangeObserver() = default;
  /// Adds the values of x to the observed range.
  /// Throws: ValueError if x has NaN or infinity.
  virtual void observe(const Tensor& x) = 0;
  /// Returns the largest magnitude to represent, finite and >= 0; empty before
  /// the first observation.
  virtual std::optional<float> range() const = 0;

  /// Save and restore the statistics, between observers with the same options.
  /// Not called for custom observers, whose class files cannot name.
  /// Throws: UnsupportedError by default; ValueError and NotFoundError for an
  /// invalid state.
  virtual Config state() const;
  virtual void restore(const Config& state);
  /// Merges the state() of an observer with the same options that saw later
  /// data. The result equals an observer of all data.
  virtual void merge(const Config& later);
};

/// Returns an observer for quantized values up to `high`, a parameter of `mse`
/// and `entropy`.
/// Throws: ValueError for options out of range, and if options.observer returns
/// null.
std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             int high = 127);

/// "max", "percentile 99.99", "entropy", ..., "custom".
std::string to_string(const CalibrationOptions& options);

/// Serializes the observer options.
/// Throws: UnsupportedError for a custom observer.
Config to_config(const CalibrationOptions& options);
/// Parses the result of to_config().
/// Throws: ValueError, NotFoundError.
CalibrationOptions calibration_options_from(const Config& config);

}  // namespace octet::quant
