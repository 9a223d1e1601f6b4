// The epilogue of a linear op rounds several times: z = sum * rescale, a*z + b,
// the quotient by the output's scale, q. A single multiply-add,
// q = round(multiplier * sum + offset), rounds twice, so that some sums may
// have another q. Both functions are monotonic in the sum: they are equal for
// all sums if they are equal at both ends of each interval of constant q, at
// most 256 pairs. The kernel computes the epilogue's q of these sums. If one
// differs, neighboring multipliers and offsets are tried.
#include "requantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include <octet/runtime/parallel.h>

namespace octet::inference {
namespace {

using kernels::FusedOutput;
using kernels::StorageFormat;

constexpr int64_t kLargestSum = std::numeric_limits<int32_t>::max();
constexpr int kVector = 16;                // channels checked at a time
constexpr float kToInteger = 12582912.0f;  // see kernels/simd.inl

// The arithmetic of requantize_column() in kernels/short_epilogue.inl.
struct MultiplyAdd {
  float multiplier, offset, low, high, rounding_constant;

  struct Point {
    int32_t sum;
    int q;
  };

  int operator()(int64_t sum) const {
    const float v = std::fma(static_cast<float>(sum), multiplier, offset);
    return static_cast<int>(std::clamp(v, low, high) + rounding_constant -
                            rounding_constant);
  }

  // Returns the ends of the intervals of sums with the same q.
  std::vector<Point> ends() const {
    const int sign = multiplier < 0 ? -1 : 1;
    std::vector<Point> result;
    const auto add = [&](int64_t u, int q) {
      result.push_back({static_cast<int32_t>(sign * u), q});
    };
    const int last = (*this)(sign * kLargestSum);
    int q = (*this)(-sign * kLargestSum);
    add(-kLargestSum, q);
    while (q < last) {
      const int64_t u = first_above(q, sign);
      add(u - 1, q);
      q = (*this)(sign * u);
      add(u, q);
    }
    add(kLargestSum, last);
    return result;
  }

  // Returns the smallest u with (*this)(sign * u) > q, given that it exists.
  int64_t first_above(int q, int sign) const {
    const auto above = [&](int64_t u) { return (*this)(sign * u) > q; };
    const double guess = std::ceil((q + 0.5 - offset) / sign / multiplier);
    if (std::abs(guess) < 0x1p30) {
      const auto u = static_cast<int64_t>(guess);
      if (above(u) && !above(u - 1)) return u;
    }
    int64_t below = -kLargestSum, found = kLargestSum;
    while (found - below > 1) {
      const int64_t middle = below + (found - below) / 2;
      (above(middle) ? found : below) = middle;
    }
    return found;
  }
};

// Change of the nominal parameters: neighboring floats of the multiplier, steps
// of the offset.
struct Change {
  int multiplier, offset;
};
std::vector<Change> changes() {
  std::vector<Change> result;
  for (const int offset : {0, 1, -1, 2, -2, 3, -3}) {
    for (const int multiplier : {0, 1, -1, 2, -2}) {
      result.push_back({multiplier, offset});
    }
  }
  return result;
}

float next_float(float v, int steps) {
  const float to = steps < 0 ? -std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::infinity();
  for (int i = std::abs(steps); i > 0; --i) v = std::nextafter(v, to);
  return v;
}

class Search {
 public:
  Search(const kernels::Epilogue& e, const kernels::CodeTable& table)
      : e_(e), fused_(*e.fused), table_(table) {}

  // Finds the multiply-adds of `count` channels from `first` on.
  void run(int64_t first, int count, float* multiplier, float* offset) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    static const std::vector<Change> all = changes();
    std::vector<int> unsolved(static_cast<size_t>(count));
    std::iota(unsolved.begin(), unsolved.end(), 0);
    std::fill_n(multiplier, count, kNone);
    std::fill_n(offset, count, 0.0f);
    for (const Change& change : all) {
      std::vector<MultiplyAdd> candidates;
      candidates.reserve(unsolved.size());
      for (const int i : unsolved)
        candidates.push_back(candidate(first + i, change));
      const std::vector<bool> exact = check(first, count, unsolved, candidates);
      std::vector<int> rest;
      for (size_t i = 0; i < unsolved.size(); ++i) {
        if (exact[i]) {
          multiplier[unsolved[i]] = candidates[i].multiplier;
          offset[unsolved[i]] = candidates[i].offset;
        } else {
          rest.push_back(unsolved[i]);
        }
      }
      unsolved = std::move(rest);
      if (unsolved.empty()) return;
    }
  }

 private:
  MultiplyAdd candidate(int64_t channel, const Change& change) const {
    const FusedOutput& o = fused_.outputs[0];
    const bool affine = fused_.terms == 1;
    const double a = affine ? fused_.a[channel] : 1;
    const double b = affine ? fused_.b[channel] : 0;
    const double scale = o.scale;
    const int zero = o.form == StorageFormat::bytes ? o.zero_byte : 0;
    constexpr double kStep = 0x1p-19;  // q has about this precision
    return {next_float(static_cast<float>(e_.rescale[channel] * a / scale),
                       change.multiplier),
            static_cast<float>(b / scale + change.offset * kStep), o.code_low,
            o.code_high, kToInteger + static_cast<float>(zero)};
  }

  // Returns whether the candidates of the channels in `unsolved` are exact.
  std::vector<bool> check(int64_t first, int count,
                          const std::vector<int>& unsolved,
                          const std::vector<MultiplyAdd>& candidates) {
    std::vector<std::vector<MultiplyAdd::Point>> ends(unsolved.size());
    size_t most = 0;
    std::vector<bool> exact(unsolved.size());
    for (size_t i = 0; i < unsolved.size(); ++i) {
      exact[i] = std::isfinite(candidates[i].multiplier) &&
                 std::isfinite(candidates[i].offset);
      if (exact[i]) ends[i] = candidates[i].ends();
      most = std::max(most, ends[i].size());
    }
    std::vector<int32_t> sums(most * static_cast<size_t>(count));
    for (size_t i = 0; i < unsolved.size(); ++i) {
      for (size_t j = 0; j < ends[i].size(); ++j) {
        sums[j * static_cast<size_t>(count) +
             static_cast<size_t>(unsolved[i])] = ends[i][j].sum;
      }
    }
    const std::vector<int> expected = epilogue(first, count, sums);
    for (size_t i = 0; i < unsolved.size(); ++i) {
      exact[i] = exact[i] && !expected.empty();
      for (size_t j = 0; j < ends[i].size() && exact[i]; ++j) {
        exact[i] = expected[j * static_cast<size_t>(count) +
                            static_cast<size_t>(unsolved[i])] == ends[i][j].q;
      }
    }
    return exact;
  }

  // Returns the epilogue's q for sums [n][count] of channels from `first` on;
  // empty if it computes a NaN.
  std::vector<int> epilogue(int64_t first, int count,
                            const std::vector<int32_t>& sums) {
    const int64_t n = std::ssize(sums) / count;
    const bool bytes = fused_.outputs[0].form == StorageFormat::bytes;
    std::vector<int16_t> stored(sums.size());
    kernels::FusedEpilogue fused = fused_;
    fused.multiplier = nullptr;
    bool nan = false;
    fused.nan = &nan;
    if (fused.terms == 1) {
      fused.a += first;
      fused.b += first;
    }
    fused.outputs[0].to = stored.data();
    fused.outputs[0].pixel = count;
    fused.outputs[0].line = 0;
    kernels::Epilogue e;
    e.rescale = e_.rescale + first;
    e.fused = &fused;
    table_.finish(sums.data(), n, count, e);
    if (nan) return {};
    std::vector<int> q(sums.size());
    const auto* const narrow = reinterpret_cast<const uint8_t*>(stored.data());
    for (size_t i = 0; i < q.size(); ++i) {
      q[i] = bytes ? narrow[i] - fused.outputs[0].zero_byte : stored[i];
    }
    return q;
  }

  const kernels::Epilogue& e_;
  const kernels::FusedEpilogue& fused_;
  const kernels::CodeTable& table_;
};

bool may_be_one_multiply_add(const kernels::FusedEpilogue& f,
                             const kernels::CodeTable& table) {
  if (table.finish == nullptr || f.output_count != 1 || f.terms > 1) {
    return false;
  }
  const StorageFormat form = f.outputs[0].form;
  return f.activate == nullptr && !f.clips &&
         (form == StorageFormat::bytes || form == StorageFormat::shorts);
}

}  // namespace

Requantization find_requantization(const kernels::Epilogue& e, int64_t channels,
                                   const kernels::CodeTable& table) {
  if (!may_be_one_multiply_add(*e.fused, table)) return {};
  Requantization result{Tensor({channels}), Tensor({channels})};
  float* const multiplier = result.multiplier.f32().data();
  float* const offset = result.offset.f32().data();
  parallel_for((channels + kVector - 1) / kVector, [&](int64_t i) {
    const int64_t first = i * kVector;
    const auto count =
        static_cast<int>(std::min<int64_t>(kVector, channels - first));
    Search(e, table).run(first, count, multiplier + first, offset + first);
  });
  return result;
}

}  // namespace octet::inference
