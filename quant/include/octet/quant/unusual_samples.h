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

/// A sample that no calibration should see.
struct UnusualSample {
  int64_t index = 0;  ///< position in the dataset
  /// Name of the input; of several without names "input 0", of one empty.
  std::string input = {};
  std::string reason = {};  ///< "largest magnitude 1e+06, median 0.98"
};

/// Fields in order: samples, seed
struct SampleCheckOptions {
  int64_t samples = 0;  ///< number to compare, as Dataset::sample(); 0: all
  uint64_t seed = 0;    ///< of that choice
};

struct CheckedSamples {
  Dataset usual;  ///< of the samples compared, in the order of the dataset
  std::vector<UnusualSample> unusual = {};  ///< ordered by index
  /// Describes two groups of samples in `usual` whose magnitudes lie apart, as
  /// of bytes and floats in one dataset; empty if there is one group.
  std::string mixed = {};
};

/// Compares the samples with each other and separates the unusual ones: NaN or
/// infinity in an input, or a largest magnitude far above that of all others.
/// The magnitudes of each input are judged by their logarithms, zeros left
/// out: a sample is unusual more than ln(64), and more than b * ln(500 n),
/// above the median, where b is the scale of an exponential tail estimated
/// from the median absolute deviation and from the 90th and 95th percentiles.
/// The first bound leaves typical samples less than two of 127 INT8 levels;
/// the second flags a sample of n from a power law, as heavy-tailed as it may
/// be, in one dataset of a thousand. Small magnitudes are never unusual.
/// At most 5 % of the samples (at least one) are separated for their
/// magnitude: more are a part of the distribution. Fewer than four samples are
/// not compared. Two groups of at least 5 % of the samples each, with a factor
/// of 64 and no sample between them, are reported and not separated.
/// Throws: ValueError beginning with `subject` if more than 5 % of the samples
/// (at least one) are not finite, or all of them.
CheckedSamples check_samples(std::string_view subject, const Dataset& data,
                             const SampleCheckOptions& options = {});

/// Logs a warning that names the samples, and one of mixed groups. `names` are
/// names of all samples of the dataset, such as their files, or empty.
void warn_of_unusual(std::string_view subject, const CheckedSamples& checked,
                     std::span<const std::string> names = {});

}  // namespace octet::quant
