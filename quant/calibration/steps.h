// What calibrate() and calibrate_auto() consist of.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/observer.h>
#include <octet/quant/quantizer.h>
#include <octet/quant/unusual_samples.h>
#include <octet/runtime/dataset.h>

namespace octet::quant {

using Quantizers = std::vector<std::shared_ptr<Quantizer>>;

/// Those whose ranges calibration collects: of activations, each once.
Quantizers activation_ranges(Model& model);

/// Warns of switched-off quantizers and untrained statistics. Throws:
/// ValueError unless the model is quantized.
void check_calibration(const Model& model);

/// Switches all quantizers off and back to what they were; observations that
/// nobody finished are dropped.
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

/// Of weights that are not live: of all where `wanted` says how, else of those
/// that have none yet, by WeightRange::max. Warns where `wanted` is in vain.
std::vector<WeightScales> scales_of_weights(const Model& model,
                                            std::optional<WeightRange> wanted);

/// Throws: ValueError naming a quantizer that saw no data or gives no range.
void expect_ranges(const Quantizers& observing);

/// Says that a quantizer saw zeros alone.
void warn_of_zeros(const std::string& quantizer);

/// Throws: ValueError below 1.
void check_batch_size(int64_t batch_size);

/// Which samples calibration_samples() looks at.
enum class SampleCheck { all, usual };

/// The samples to calibrate on, without the unusual ones, which are named in a
/// warning by their position in `data`; a further warning where classes are
/// missing.
/// Throws: ValueError for options out of range; as check_samples().
Dataset calibration_samples(const Dataset& data, int64_t samples, uint64_t seed,
                            SampleCheck check = SampleCheck::usual);

/// The same with a list of what was ignored.
CheckedSamples checked_samples(const Dataset& data, int64_t samples,
                               uint64_t seed, SampleCheck check);

/// Samples to find ranges by, and samples to judge by.
struct HeldOut {
  Dataset samples;
  Dataset held_out;
  bool same = false;  ///< too few to be two parts
};

/// Splits the samples at random. Fewer than four samples are not split: all of
/// them do both, with a warning that begins with `subject`.
/// Throws: ValueError unless both parts have samples.
HeldOut hold_out(std::string_view subject, const Dataset& data, double share,
                 uint64_t seed);

}  // namespace octet::quant
