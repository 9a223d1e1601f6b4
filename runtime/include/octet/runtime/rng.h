// Rng: a counter-based generator (Philox4x32-10). A stream is a pure function
// of its seed and the names passed to child(), so results depend neither on
// creation order nor on threads. No seed is ever taken from a clock.
//
// Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
// SC 2011.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// A stream of random numbers. A copy continues with the same numbers. Not
/// thread-safe: use a child() per thread.
class Rng {
 public:
  /// The stream of `seed`, from its first number.
  explicit Rng(uint64_t seed) : key_(seed) {}

  /// Returns an independent stream: `rng.child("conv1/kernel")`. Depends on
  /// key() and the argument only, not on the numbers already drawn.
  Rng child(std::string_view name) const;
  Rng child(uint64_t index) const;

  /// Returns 32 random bits.
  uint32_t next();
  /// Returns a multiple of 2^-24 in [0, 1).
  float uniform();
  /// Returns an unbiased integer in [0, bound). Throws: ValueError for
  /// bound <= 0.
  int64_t below(int64_t bound);
  /// Returns a standard normal number (Box-Muller).
  float normal();

  /// Fill values, in order, with low + (high - low) * uniform() or mean +
  /// deviation * normal().
  /// Throws: ValueError for a tensor that is not f32.
  void fill_uniform(std::span<float> values, float low, float high);
  void fill_normal(std::span<float> values, float mean, float deviation);
  void fill_uniform(Tensor& tensor, float low, float high);
  void fill_normal(Tensor& tensor, float mean, float deviation);
  /// Returns 0 .. n-1 in random order (Fisher-Yates).
  std::vector<int64_t> permutation(int64_t n);

  /// Returns the seed; for a child, a hash of the parent's key and the argument
  /// of child().
  uint64_t key() const { return key_; }
  /// Returns the number of Philox blocks generated, four next() values each.
  uint64_t counter() const { return counter_; }

 private:
  uint64_t key_;
  uint64_t counter_ = 0;
  std::array<uint32_t, 4> block_{};
  int used_ = 4;  ///< values of block_ already returned
};

}  // namespace octet
