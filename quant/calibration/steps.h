// Steps of calibrate() and auto_calibrate().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/quantizer.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

using Quantizers = std::vector<std::shared_ptr<Quantizer>>;

/// Returns the quantizers whose ranges calibration collects: each activation
/// quantizer once.
Quantizers activation_ranges(Model& model);

/// Warns of disabled quantizers and untrained statistics.
/// Throws: ValueError for a model without quantizers; UnsupportedError for a
/// zero point other than 0.
void check_calibration(const Model& model);

/// Disables all quantizers during its lifetime. Discards unfinished
/// observations.
class SwitchedOff {
 public:
  explicit SwitchedOff(Model& model);
  ~SwitchedOff();
  SwitchedOff(const SwitchedOff&) = delete;
  SwitchedOff& operator=(const SwitchedOff&) = delete;

 private:
  Quantizers all_;
  std::vector<bool> enabled_;
};

struct WeightScales {
  std::shared_ptr<Quantizer> quantizer;
  Tensor scales;

  void put_in_place() const;
};

/// Computes the scales of weights that are not live: of all if `wanted` is
/// given, else by WeightRange::max of weights without scales. Warns if `wanted`
/// does not apply.
std::vector<WeightScales> scales_of_weights(const Model& model,
                                            std::optional<WeightRange> wanted);

/// Throws: ValueError naming a quantizer without data or range.
void expect_ranges(const Quantizers& observing);

/// Warns of an all-zero quantizer.
void warn_of_zeros(const std::string& quantizer);

/// Throws: ValueError below 1.
void check_batch_size(int64_t batch_size);

/// Samples included by calibration_samples().
enum class SampleCheck { all, usual };

/// Returns the calibration samples without unusual ones, which a warning names
/// by their position in `data`. Warns of missing classes.
/// Throws: ValueError for options out of range; as check_samples().
Dataset calibration_samples(const Dataset& data, int64_t samples, uint64_t seed,
                            SampleCheck check = SampleCheck::usual);

/// As above, with a list of the ignored samples.
CheckedSamples checked_samples(const Dataset& data, int64_t samples,
                               uint64_t seed, SampleCheck check);

/// Samples for ranges and held-out samples.
struct HeldOut {
  Dataset samples;
  Dataset held_out;
  bool same = false;  ///< too few samples to split
};

/// Splits the samples at random. Fewer than four samples are not split: all
/// serve both purposes, with a warning with `subject`.
/// Throws: ValueError unless both parts have samples.
HeldOut hold_out(std::string_view subject, const Dataset& data, double share,
                 uint64_t seed);

}  // namespace octet::quant
