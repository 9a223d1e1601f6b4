// MagnitudeHistogram: histogram of a tensor's magnitudes, for calibration
// methods based on the distribution. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Bins have equal width, a power of two, so that the largest magnitude falls
/// into their upper half. When it grows, pairs of bins are merged. The counts
/// therefore equal the counts with a maximum known in advance, independent of
/// the order and batching of values.
class MagnitudeHistogram {
 public:
  static constexpr int64_t kBins = 4096;  // at least half are in use

  /// Counts |x|.
  /// Throws: ValueError if x has NaN or infinity.
  void add(const Tensor& x);

  /// Adds the counts of `other`.
  void add(const MagnitudeHistogram& other);

  /// Whether values have been counted.
  bool empty() const { return total_ == 0; }
  float top() const { return top_; }
  /// Returns the bin width; 0 while all values are zero.
  double width() const;
  /// Returns the counts up to the bin of top(); empty while all values are
  /// zero.
  std::span<const int64_t> counts() const;
  /// Returns the upper edge of a bin, at most top().
  float edge(int64_t bin) const;

  /// Serializes as {"top", "zeros", "bins": [bin, count, ...]}.
  Config state() const;
  /// Throws: ValueError, NotFoundError for an invalid state.
  void restore(const Config& state);

 private:
  void grow_to(float top);

  float top_ = 0;
  int exponent_ = 0;  // the width is 2^exponent_
  int64_t total_ = 0;
  std::vector<int64_t> counts_;  // empty while all values are zero
};

/// Returns the nonempty bins as [bin, count, bin, count, ...].
Config::List bins_of(std::span<const int64_t> counts);
/// Inverse of bins_of(): returns `size` counts.
/// Throws: ValueError.
std::vector<int64_t> counts_from(const Config::List& bins, int64_t size);

/// Returns the largest magnitude.
/// Throws: ValueError unless all values are finite.
float finite_absmax(const Tensor& x);
/// Parses a magnitude of a state().
/// Throws: ValueError if invalid.
float magnitude_from(const Config& value);

}  // namespace octet::quant
