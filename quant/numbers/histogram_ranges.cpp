#include "numbers/histogram_ranges.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include <octet/runtime/quantization.h>

namespace octet::quant {
namespace {

constexpr double kEmptyBin = 1e-4;  // in counts

double times_log(double x) { return x > 0 ? x * std::log(x) : 0.0; }

// Prefix sums over the bins: a candidate range costs a step per level.
struct Divergence {
  explicit Divergence(std::span<const int64_t> counts)
      : count(counts.size() + 1),
        occupied(counts.size() + 1),
        entropy(counts.size() + 1) {
    for (size_t i = 0; i < counts.size(); ++i) {
      const auto n = static_cast<double>(counts[i]);
      count[i + 1] = count[i] + counts[i];
      occupied[i + 1] = occupied[i] + (counts[i] > 0 ? 1 : 0);
      entropy[i + 1] = entropy[i] + times_log(n);
    }
  }

  double operator()(int64_t bins, int levels) const {
    const auto end = static_cast<size_t>(bins);
    if (count[end] == 0) return std::numeric_limits<double>::infinity();
    const auto total = static_cast<double>(count.back());
    const auto beyond = static_cast<double>(count.back() - count[end]);
    const auto last = static_cast<double>(count[end] - count[end - 1]);
    double all_q = static_cast<double>(count[end]);
    // Sums of p * log(p) and p * log(q), in counts.
    const double own = entropy[end - 1] + times_log(last + beyond);
    double cross = 0;
    double last_q = 0;
    size_t first = 0;
    for (int group = 0; group < levels; ++group) {
      const auto next = static_cast<size_t>(((group + 1) * bins + levels - 1) /
                                            int64_t{levels});
      const auto inside = static_cast<double>(count[next] - count[first]);
      if (inside > 0) {
        last_q = inside / static_cast<double>(occupied[next] - occupied[first]);
        cross += inside * std::log(last_q);
      }
      first = next;
    }
    if (beyond > 0) {
      if (last == 0) {
        last_q = kEmptyBin;
        all_q += kEmptyBin;
      }
      cross += beyond * std::log(last_q);
    }
    return (own - cross) / total - std::log(total) + std::log(all_q);
  }

  std::vector<int64_t> count;
  std::vector<int64_t> occupied;
  std::vector<double> entropy;
};

}  // namespace

std::vector<float> magnitudes(const QuantParams& qparams) {
  std::vector<float> result;
  if (qparams.format == NumberFormat::integer) {
    for (int q = 0; q <= qparams.high; ++q) {
      result.push_back(static_cast<float>(q));
    }
    return result;
  }
  // Nonnegative values ascend with their bits.
  const auto high = static_cast<float>(qparams.high);
  for (uint8_t bits = 0; result.empty() || result.back() < high; ++bits) {
    result.push_back(decode_float(bits, qparams.format));
  }
  return result;
}

double divergence(std::span<const int64_t> counts, int64_t bins, int levels) {
  return Divergence(counts)(bins, levels);
}

float entropy_range(const MagnitudeHistogram& histogram, int levels) {
  if (histogram.counts().empty()) return 0;
  std::vector<int64_t> counts(histogram.counts().begin(),
                              histogram.counts().end());
  // Zeros, frequent after ReLU, are exact in every range.
  counts[0] = counts[1];
  const Divergence divergence(counts);
  double least = std::numeric_limits<double>::infinity();
  auto best = static_cast<int64_t>(counts.size());
  for (int64_t bins = levels; bins <= std::ssize(counts); ++bins) {
    const double d = divergence(bins, levels);
    if (d > least) continue;
    least = d;
    best = bins;
  }
  return histogram.edge(best - 1);
}

float mse_range(const MagnitudeHistogram& histogram,
                std::span<const float> levels) {
  const auto counts = histogram.counts();
  if (counts.empty()) return 0;
  // Prefix sums of n and n*c, with c the center of bin j, j + 0.5 bins, or the
  // exact maximum for the last bin. The sum of n*c*c is the same for every
  // range.
  std::vector<double> n(counts.size() + 1);
  std::vector<double> nc(counts.size() + 1);
  for (size_t j = 0; j < counts.size(); ++j) {
    const auto count = static_cast<double>(counts[j]);
    const double centre = j + 1 < counts.size()
                              ? static_cast<double>(j) + 0.5
                              : histogram.top() / histogram.width();
    n[j + 1] = n[j] + count;
    nc[j + 1] = nc[j] + count * centre;
  }
  const auto end = static_cast<double>(counts.size());
  const auto high = static_cast<int>(levels.back());
  double least = std::numeric_limits<double>::infinity();
  int64_t best = 0;
  for (int64_t bin = 0; bin < std::ssize(counts); ++bin) {
    const double step =
        scale_of_range(histogram.edge(bin), high) / histogram.width();
    double error = 0;  // without the constant sum of n*c*c
    size_t first = 0;
    for (size_t k = 0; k < levels.size() && first < counts.size(); ++k) {
      // A level covers centers up to halfway to the next one, the largest all
      // remaining centers.
      const bool last = k + 1 == levels.size();
      const double half = last ? 0 : (double{levels[k]} + levels[k + 1]) / 2;
      const double border = std::floor(half * step - 0.5) + 1;
      const auto next = last ? counts.size()
                             : static_cast<size_t>(std::clamp(
                                   border, static_cast<double>(first), end));
      const double value = levels[k] * step;
      error +=
          value * (value * (n[next] - n[first]) - 2 * (nc[next] - nc[first]));
      first = next;
    }
    if (error > least) continue;
    least = error;
    best = bin;
  }
  return histogram.edge(best);
}

}  // namespace octet::quant
