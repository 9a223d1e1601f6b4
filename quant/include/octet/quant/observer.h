// Observers: what calibration remembers of the tensors it sees.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// How calibration chooses the range of an activation. All but `ema` and
/// `last_value` give the same bits however the samples are cut into batches.
/// Source of the rules: NVIDIA, "Integer Quantization for Deep Learning
/// Inference", arXiv 2004.09602, section 4.
enum class Calibration {
  max,  ///< largest magnitude seen: min-max of a symmetric range
  ema,  ///< moving average of the batches' largest magnitudes
  /// magnitude below which a given share of the values lies; the largest where
  /// these are zeros alone
  percentile,
  last_value,  ///< largest magnitude of the last batch
  mse,         ///< the least mean square error of the quantized values
  /// the least Kullback-Leibler divergence between the values' distribution and
  /// that of the quantized ones. Source: S. Migacz, "8-bit inference with
  /// TensorRT", GTC 2017; empty bins as quant/README.md says
  entropy,
};

/// How calibration chooses the ranges of weights, of each channel or of the
/// tensor, where they are not live.
enum class WeightRange {
  max,  ///< largest magnitude
  mse,  ///< the share of it that gives the least square error
};

class RangeObserver;

/// Fields in order: method, percentile, ema_rate, weights, observer,
/// batch_size, samples, seed
struct CalibrationOptions {
  Calibration method = Calibration::percentile;
  float percentile = 99.99f;  ///< of Calibration::percentile, [50, 100]
  float ema_rate = 0.01f;     ///< of Calibration::ema: of a new batch, (0, 1]
  /// Of weights with fixed or learned scales. Unless given: `max`, and only
  /// where there are no scales yet.
  std::optional<WeightRange> weights = {};
  /// Makes a custom observer for each quantizer, in place of `method`.
  std::function<std::unique_ptr<RangeObserver>()> observer = {};
  // Of calibrate() with a Dataset, nothing to observers:
  int64_t batch_size = 256;
  int64_t samples = 0;  ///< as many, chosen by chance; 0: all
  uint64_t seed = 0;    ///< of that choice
};

/// Collects the range of one tensor. Not thread-safe. Users may derive their
/// own, for CalibrationOptions::observer.
class RangeObserver {
 public:
  virtual ~RangeObserver() = default;
  /// Throws: ValueError if x holds NaN or infinity.
  virtual void observe(const Tensor& x) = 0;
  /// Largest magnitude to represent, finite and >= 0; nothing before the first
  /// observation.
  virtual std::optional<float> range() const = 0;

  /// What it remembers, and the same put back into one that was made with the
  /// same options. A custom observer is not asked: files cannot name its class.
  /// Throws: UnsupportedError by default; ValueError and NotFoundError for what
  /// state() does not give.
  virtual Config state() const;
  virtual void restore(const Config& state);
  /// Adds what another one, made with the same options, saw after this one:
  /// its state(). This is then the same as one that saw all.
  /// Throws: as restore().
  virtual void merge(const Config& later);
};

/// For values that are quantized to codes up to `high`, which `mse` and
/// `entropy` depend on. Throws: ValueError for options out of range, and if
/// options.observer makes none.
std::unique_ptr<RangeObserver> make_observer(const CalibrationOptions& options,
                                             int high = 127);

/// "max", "percentile 99.99", "entropy", ..., "custom".
std::string to_string(const CalibrationOptions& options);

/// What observers know of the options, and back. Throws: UnsupportedError for a
/// custom observer.
Config to_config(const CalibrationOptions& options);
/// Throws: ValueError, NotFoundError.
CalibrationOptions calibration_options_from(const Config& config);

}  // namespace octet::quant
