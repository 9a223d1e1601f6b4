// Damaged calibration samples: a single pixel of 10^6 sets the range of every
// tensor. Calibration and the post-training methods ignore such samples with a
// warning.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/dataset.h>

namespace octet::quant {

/// A sample to exclude from calibration.
struct UnusualSample {
  int64_t index = 0;  ///< position in the dataset
  /// Input name; "input 0" for unnamed inputs, empty for a single one.
  std::string input = {};
  std::string reason = {};  ///< "largest magnitude 1e+06, median 0.98"
};

/// Fields in order: samples, seed
struct SampleCheckOptions {
  int64_t samples =
      0;              ///< size of the random subset (Dataset::sample()); 0: all
  uint64_t seed = 0;  ///< of the subset
};

struct CheckedSamples {
  Dataset usual;  ///< the other samples of the subset, in dataset order
  std::vector<UnusualSample> unusual = {};  ///< ordered by index
  /// Describes two groups of samples in `usual` whose magnitudes lie apart, as
  /// of bytes and floats in one dataset; empty if there is one group.
  std::string mixed = {};
};

/// Compares samples and separates the unusual ones: NaN or infinity in an
/// input, or a largest magnitude far above that of all others. Compares the
/// logarithms of the nonzero magnitudes of each input. A sample is unusual if
/// it is more than ln(64) and more than b * ln(500 n) above the median, with b
/// the scale of an exponential tail, estimated from the median absolute
/// deviation and the 90th and 95th percentiles. Beyond the first bound, typical
/// samples have fewer than two of 127 INT8 levels. By the second, one dataset
/// in a thousand of n samples from a power law, however heavy-tailed, has a
/// false positive. Small magnitudes are never unusual. Separates at most 5 % of
/// the samples (at least one) for their magnitude; more belong to the
/// distribution. Fewer than four samples are not compared. Two groups of at
/// least 5 % of the samples each, a factor of 64 apart with no sample between
/// them, are reported and not separated.
/// Throws: ValueError with `subject` if more than 5 % of the samples (at least
/// one), or all, are not finite.
CheckedSamples check_samples(std::string_view subject, const Dataset& data,
                             const SampleCheckOptions& options = {});

/// Logs a warning that names the samples, and a warning of two groups. `names`
/// has the names of all samples of the dataset, such as files, or is empty.
void warn_of_unusual(std::string_view subject, const CheckedSamples& checked,
                     std::span<const std::string> names = {});

}  // namespace octet::quant
