// The epilogue of a linear op rounds several times: z = sum * rescale, a*z + b,
// the quotient by the output's scale, q. A line has two roundings, which differ
// from them for few sums. Both are monotonic in the sum, so they agree for all
// sums if they agree at both ends of every interval in which the line's q is
// constant: at most 256 pairs of sums. The kernel itself computes the
// epilogue's q of these sums. Otherwise neighboring lines are tried.
#include "requantization.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>
#include <vector>

#include <octet/runtime/parallel.h>

namespace octet::inference {
namespace {

using kernels::FusedOutput;
using kernels::StorageFormat;

constexpr int64_t kLargestSum = std::numeric_limits<int32_t>::max();
constexpr int kVector = 16;  // channels whose lines are checked at once
constexpr float kToInteger = 12582912.0f;  // see kernels/simd.inl

// The arithmetic of requantize_column() in kernels/short_epilogue.inl.
struct Line {
  float multiplier, offset, low, high, magic;

  struct Point {
    int32_t sum;
    int q;
  };

  int operator()(int64_t sum) const {
    const float v = std::fma(static_cast<float>(sum), multiplier, offset);
    return static_cast<int>(std::clamp(v, low, high) + magic - magic);
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

// Distance of a line from the nearest one, in steps of both parameters.
struct Shift {
  int multiplier, offset;
};
std::vector<Shift> shifts() {
  std::vector<Shift> result;
  for (const int offset : {0, 1, -1, 2, -2, 3, -3}) {
    for (const int multiplier : {0, 1, -1, 2, -2}) {
      result.push_back({multiplier, offset});
    }
  }
  return result;
}

float moved(float v, int steps) {
  const float to = steps < 0 ? -std::numeric_limits<float>::infinity()
                             : std::numeric_limits<float>::infinity();
  for (int i = std::abs(steps); i > 0; --i) v = std::nextafter(v, to);
  return v;
}

class Search {
 public:
  Search(const kernels::Epilogue& e, const kernels::CodeTable& table)
      : e_(e), fused_(*e.fused), table_(table) {}

  // Finds the lines of `count` channels from `first` on.
  void run(int64_t first, int count, float* multiplier, float* offset) {
    constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
    static const std::vector<Shift> all = shifts();
    std::vector<int> open;
    for (int i = 0; i < count; ++i) open.push_back(i);
    std::fill_n(multiplier, count, kNone);
    std::fill_n(offset, count, 0.0f);
    for (const Shift& shift : all) {
      std::vector<Line> lines;
      for (const int i : open) lines.push_back(line(first + i, shift));
      const std::vector<bool> exact = check(first, count, open, lines);
      std::vector<int> rest;
      for (size_t i = 0; i < open.size(); ++i) {
        if (exact[i]) {
          multiplier[open[i]] = lines[i].multiplier;
          offset[open[i]] = lines[i].offset;
        } else {
          rest.push_back(open[i]);
        }
      }
      open = std::move(rest);
      if (open.empty()) return;
    }
  }

 private:
  Line line(int64_t channel, const Shift& shift) const {
    const FusedOutput& o = fused_.outputs[0];
    const bool affine = fused_.terms == 1;
    const double a = affine ? fused_.a[channel] : 1;
    const double b = affine ? fused_.b[channel] : 0;
    const double scale = o.scale;
    const int zero = o.form == StorageFormat::bytes ? o.zero_byte : 0;
    constexpr double kStep = 0x1p-19;  // q has about this precision
    return {moved(static_cast<float>(e_.rescale[channel] * a / scale),
                  shift.multiplier),
            static_cast<float>(b / scale + shift.offset * kStep), o.code_low,
            o.code_high, kToInteger + static_cast<float>(zero)};
  }

  // Returns whether the lines of the channels in `open` are exact.
  std::vector<bool> check(int64_t first, int count,
                          const std::vector<int>& open,
                          const std::vector<Line>& lines) {
    std::vector<std::vector<Line::Point>> ends(open.size());
    size_t most = 0;
    std::vector<bool> exact(open.size());
    for (size_t i = 0; i < open.size(); ++i) {
      exact[i] =
          std::isfinite(lines[i].multiplier) && std::isfinite(lines[i].offset);
      if (exact[i]) ends[i] = lines[i].ends();
      most = std::max(most, ends[i].size());
    }
    std::vector<int32_t> sums(most * static_cast<size_t>(count));
    for (size_t i = 0; i < open.size(); ++i) {
      for (size_t j = 0; j < ends[i].size(); ++j) {
        sums[j * static_cast<size_t>(count) + static_cast<size_t>(open[i])] =
            ends[i][j].sum;
      }
    }
    const std::vector<int> expected = epilogue(first, count, sums);
    for (size_t i = 0; i < open.size(); ++i) {
      exact[i] = exact[i] && !expected.empty();
      for (size_t j = 0; j < ends[i].size() && exact[i]; ++j) {
        exact[i] = expected[j * static_cast<size_t>(count) +
                            static_cast<size_t>(open[i])] == ends[i][j].q;
      }
    }
    return exact;
  }

  // Returns q of sums [n][count] of channels from `first` on; empty if a sum
  // has none.
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

bool may_have_lines(const kernels::FusedEpilogue& f,
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
  if (!may_have_lines(*e.fused, table)) return {};
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
