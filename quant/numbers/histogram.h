// MagnitudeHistogram: how often magnitudes of a tensor occur, for calibration
// methods that look at their distribution. Not thread-safe.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <octet/runtime/config.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// Bins are of equal width, a power of two that follows the largest magnitude,
/// so that this lies in the upper half of the bins. When it grows, pairs of
/// bins become one. Widths being powers of two, the counts are those of a
/// histogram that knew the largest magnitude from the start: neither the order
/// of values nor the batches matter.
class MagnitudeHistogram {
 public:
  static constexpr int64_t kBins = 4096;  // at least half of them in use

  /// Counts |x|. Throws: ValueError if x holds NaN or infinity.
  void add(const Tensor& x);

  /// Adds the counts of another one.
  void add(const MagnitudeHistogram& other);

  /// Whether values have been counted.
  bool empty() const { return total_ == 0; }
  float top() const { return top_; }
  /// Of a bin; 0 while there are zeros alone.
  double width() const;
  /// Of the bins up to that of top(); none while there are zeros alone.
  std::span<const int64_t> counts() const;
  /// The upper edge of a bin, or top() where that is smaller.
  float edge(int64_t bin) const;

  /// {"top", "zeros", "bins": [bin, count, ...]}, and back.
  Config state() const;
  /// Throws: ValueError, NotFoundError for what state() does not give.
  void restore(const Config& state);

 private:
  void grow_to(float top);

  float top_ = 0;
  int exponent_ = 0;  // the width is 2^exponent_
  int64_t total_ = 0;
  std::vector<int64_t> counts_;  // empty while there are zeros alone
};

/// Bins that hold something, as [bin, count, bin, count, ...].
Config::List bins_of(std::span<const int64_t> counts);
/// Back, as `size` counts. Throws: ValueError.
std::vector<int64_t> counts_from(const Config::List& bins, int64_t size);

/// The largest magnitude. Throws: ValueError unless all values are finite.
float finite_absmax(const Tensor& x);
/// What state() gave as a magnitude. Throws: ValueError unless it is one.
float magnitude_from(const Config& value);

}  // namespace octet::quant
