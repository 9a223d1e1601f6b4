#include "numbers/histogram.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/quantization.h>

namespace octet::quant {
namespace {

// The bin width, as an exponent, that puts `top` > 0 into the upper half of the
// bins.
int bin_exponent(float top) {
  int exponent = 0;
  (void)std::frexp(top, &exponent);  // top < 2^exponent
  static_assert(MagnitudeHistogram::kBins == int64_t{1} << 12);
  return exponent - 12;
}

int64_t sum(std::span<const int64_t> counts) {
  int64_t total = 0;
  for (const int64_t count : counts) total += count;
  return total;
}

}  // namespace

float finite_absmax(const Tensor& x) {
  const float top = absmax(x);
  if (!std::isfinite(top)) {
    throw ValueError("not_finite", "calibration",
                     fmt::format("values must be finite, got {}", top));
  }
  return top;
}

float magnitude_from(const Config& value) {
  const auto magnitude = static_cast<float>(value.as_number());
  if (!(magnitude >= 0) || std::isinf(magnitude)) {
    throw ValueError(
        "invalid_value", "observer state",
        fmt::format("magnitude must be finite and >= 0, got {}", magnitude));
  }
  return magnitude;
}

Config::List bins_of(std::span<const int64_t> counts) {
  Config::List bins;
  for (size_t bin = 0; bin < counts.size(); ++bin) {
    if (counts[bin] == 0) continue;
    bins.emplace_back(static_cast<int64_t>(bin));
    bins.emplace_back(counts[bin]);
  }
  return bins;
}

std::vector<int64_t> counts_from(const Config::List& bins, int64_t size) {
  if (bins.size() % 2 != 0) {
    throw ValueError(
        "count_mismatch", "observer state",
        fmt::format("bins must be pairs of index and count, got {} numbers",
                    bins.size()));
  }
  std::vector<int64_t> counts(static_cast<size_t>(size));
  int64_t total = 0;
  for (size_t i = 0; i < bins.size(); i += 2) {
    const int64_t bin = bins[i].as_int();
    const int64_t count = bins[i + 1].as_int();
    const bool known = bin >= 0 && bin < size;
    if (!known || counts[static_cast<size_t>(bin)] != 0 || count < 1 ||
        __builtin_add_overflow(total, count, &total)) {
      throw ValueError("invalid_value", "observer state",
                       fmt::format("bins must be distinct and in [0,{}) with "
                                   "counts >= 1, got count {} of bin {}",
                                   size, count, bin));
    }
    counts[static_cast<size_t>(bin)] = count;
  }
  return counts;
}

void MagnitudeHistogram::grow_to(float top) {
  if (top <= top_) return;
  const int exponent = bin_exponent(top);
  if (counts_.empty()) {
    counts_.assign(static_cast<size_t>(kBins), 0);
    counts_[0] = total_;  // zeros so far
  } else if (exponent > exponent_) {
    // Halving an index rounds it down, as merging pairs of bins does.
    const int shift = std::min(exponent - exponent_, 12);
    std::vector<int64_t> wider(counts_.size());
    for (size_t bin = 0; bin < counts_.size(); ++bin) {
      wider[bin >> shift] += counts_[bin];
    }
    counts_ = std::move(wider);
  }
  exponent_ = exponent;
  top_ = top;
}

void MagnitudeHistogram::add(const Tensor& x) {
  grow_to(finite_absmax(x));
  total_ += x.size();
  if (counts_.empty()) return;
  const auto values = x.f32();
  const double by_width = std::ldexp(1.0, -exponent_);
  const auto bins = static_cast<size_t>(kBins);
  std::vector<int64_t> parts(static_cast<size_t>(chunk_count(x.size())) * bins);
  parallel_chunks(x.size(), [&](int64_t first, int64_t last, int64_t chunk) {
    int64_t* counts = parts.data() + static_cast<size_t>(chunk) * bins;
    for (int64_t i = first; i < last; ++i) {
      const double value = std::fabs(values[static_cast<size_t>(i)]);
      ++counts[static_cast<int64_t>(value * by_width)];  // exact products
    }
  });
  for (size_t i = 0; i < parts.size(); ++i) counts_[i % bins] += parts[i];
}

void MagnitudeHistogram::add(const MagnitudeHistogram& other) {
  grow_to(other.top_);
  total_ += other.total_;
  if (counts_.empty()) return;  // all values are zero
  if (other.counts_.empty()) {
    counts_[0] += other.total_;
    return;
  }
  const int shift = std::min(exponent_ - other.exponent_, 12);
  for (size_t bin = 0; bin < other.counts_.size(); ++bin) {
    counts_[bin >> shift] += other.counts_[bin];
  }
}

double MagnitudeHistogram::width() const {
  return counts_.empty() ? 0.0 : std::ldexp(1.0, exponent_);
}

std::span<const int64_t> MagnitudeHistogram::counts() const {
  if (counts_.empty()) return {};
  const auto last = static_cast<size_t>(std::ldexp(top_, -exponent_));
  return std::span(counts_).first(last + 1);
}

float MagnitudeHistogram::edge(int64_t bin) const {
  const double edge = static_cast<double>(bin + 1) * width();
  return static_cast<float>(std::min(edge, double{top_}));
}

Config MagnitudeHistogram::state() const {
  return Config()
      .set("top", top_)
      .set("zeros", counts_.empty() ? total_ : int64_t{0})
      .set("bins", bins_of(counts_));
}

void MagnitudeHistogram::restore(const Config& state) {
  const float top = magnitude_from(state.at("top"));
  const int64_t zeros = state.at("zeros").as_int();
  std::vector<int64_t> counts =
      counts_from(state.at("bins").as_list(), top > 0 ? kBins : 0);
  const bool counted = sum(counts) > 0;
  if (zeros < 0 || (top > 0) != counted || (counted && zeros > 0)) {
    throw ValueError("invalid_value", "observer state",
                     fmt::format("bins, zeros and top are inconsistent: {} "
                                 "zeros, largest magnitude {}",
                                 zeros, top));
  }
  top_ = top;
  exponent_ = top > 0 ? bin_exponent(top) : 0;
  total_ = counted ? sum(counts) : zeros;
  counts_ = std::move(counts);
}

}  // namespace octet::quant
