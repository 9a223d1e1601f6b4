// NumPy broadcasting of two tensors. Axes are aligned at the last; a tensor
// repeats along axes of size 1 and along axes that it lacks.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

#include <octet/runtime/tensor.h>

#include "arena.h"
#include "partitions.h"

namespace octet {

/// The shape that `x` and `y` broadcast to; empty if they are incompatible.
std::optional<Shape> broadcast_shape(const Shape& x, const Shape& y);

/// Iteration over broadcast operands. Adjacent axes are merged if both operands
/// advance along them, or if the same operand repeats: equal shapes become a
/// single axis, [n,h,w,c] with [n,1,1,c] three, with [c] two.
class Broadcast {
 public:
  struct Axis {
    int64_t size;
    bool x;  // whether x advances along the axis or repeats
    bool y;
  };

  /// Throws: ShapeError with `op` as subject.
  Broadcast(const char* op, const Shape& x, const Shape& y);

  const Shape& shape() const { return shape_; }
  /// Outermost first; never empty.
  std::span<const Axis> axes() const {
    return {axes_.data(), static_cast<size_t>(count_)};
  }

  /// Consecutive values of the result and the offsets of their operands.
  struct Segment {
    int64_t at, x, y, n;
    int64_t phase;  // position of the first value in the period, if any
  };

  /// Calls `run(Segment)` for runs along the last axis, in parallel partitions.
  template <class F>
  void for_each_segment(const F& run) const {
    parallel_partitions(shape_.size(), [&](int64_t first, int64_t last) {
      for (Cursor at = cursor(first); at.at < last;) {
        const int64_t n = std::min(at.left, last - at.at);
        run(Segment{at.at, at.x, at.y, n,
                    period_ == 0 ? 0 : at.index[last_stride()] % period_});
        advance(at, n);
      }
    });
  }

  /// Whether x and y advance along a run or repeat. With a period (usually the
  /// channels), the repeating operand cycles through that many values.
  bool x_moves() const { return strides_[last_stride()].x != 0; }
  bool y_moves() const { return strides_[last_stride()].y != 0; }
  int64_t period() const { return period_; }

 private:
  struct Cursor {
    int64_t at, x, y;
    int64_t left;  // in the run
    std::array<int64_t, Shape::kMaxRank> index;
  };
  struct Strides {
    int64_t size, x, y;
  };

  Cursor cursor(int64_t at) const;
  // Advances by `n` values, to the next run at the end of a run.
  void advance(Cursor& cursor, int64_t n) const;

  void find_strides();
  size_t last_stride() const { return static_cast<size_t>(stride_count_ - 1); }

  Shape shape_;
  std::array<Axis, Shape::kMaxRank> axes_{};
  int count_ = 0;
  std::array<Strides, Shape::kMaxRank> strides_{};  // of runs
  int stride_count_ = 0;
  int64_t period_ = 0;
};

/// Expands `n` values of a repeating sequence of length `period`, starting at
/// `phase`, in pieces of a buffer: `body(first, values, count)`.
template <class Body>
void for_each_repetition(const float* values, int64_t period, int64_t phase,
                         int64_t n, const Body& body) {
  constexpr int64_t kLeast = 512;
  const int64_t times = std::min((kLeast + period - 1) / period,
                                 (phase + n + period - 1) / period);
  float* const repeated = arena::scratch(3, times * period);
  for (int64_t i = 0; i < times; ++i) {
    std::copy_n(values, period, repeated + i * period);
  }
  for (int64_t first = 0; first < n; phase = 0) {
    const int64_t count = std::min(times * period - phase, n - first);
    body(first, repeated + phase, count);
    first += count;
  }
}

/// Elementwise out = f(x, y), or f(g, x, y) with `g` of the result's shape.
template <class F>
void combine_into(Tensor& out, const Broadcast& plan, const Tensor& g,
                  const Tensor& x, const Tensor& y, F f) {
  float* const to = out.f32().data();
  const float* const from_g = g.empty() ? nullptr : g.f32().data();
  const float* const from_x = x.f32().data();
  const float* const from_y = y.f32().data();
  const auto loop = [&](int64_t at, int64_t n, auto x_value, auto y_value) {
    float* const o = to + at;
    if constexpr (std::is_invocable_v<F, float, float>) {
      for (int64_t i = 0; i < n; ++i) o[i] = f(x_value(i), y_value(i));
    } else {
      const float* const gs = from_g + at;
      for (int64_t i = 0; i < n; ++i) o[i] = f(gs[i], x_value(i), y_value(i));
    }
  };
  const auto one = [](const float* p) {
    return [v = *p](int64_t) { return v; };
  };
  const auto many = [](const float* p) {
    return [p](int64_t i) { return p[i]; };
  };
  plan.for_each_segment([&](const Broadcast::Segment& run) {
    const float* const xs = from_x + run.x;
    const float* const ys = from_y + run.y;
    if (plan.x_moves() && plan.y_moves()) {
      loop(run.at, run.n, many(xs), many(ys));
    } else if (plan.period() == 0) {
      if (plan.x_moves()) return loop(run.at, run.n, many(xs), one(ys));
      loop(run.at, run.n, one(xs), many(ys));
    } else {
      for_each_repetition(
          plan.x_moves() ? ys : xs, plan.period(), run.phase, run.n,
          [&](int64_t first, const float* values, int64_t n) {
            const int64_t at = run.at + first;
            if (plan.x_moves()) {
              return loop(at, n, many(xs + first), many(values));
            }
            loop(at, n, many(values), many(ys + first));
          });
    }
  });
}

/// Like combine_into(), in a new tensor.
template <class F>
Tensor combine(const Broadcast& plan, const Tensor& g, const Tensor& x,
               const Tensor& y, F f) {
  Tensor out(plan.shape());
  combine_into(out, plan, g, x, y, f);
  return out;
}

/// Inverse of broadcasting: sums `g` to `shape`, which must broadcast to g's
/// shape. Accumulates in double precision, in an order determined by the
/// shapes.
/// Throws: ShapeError if `shape` does not broadcast to g's shape.
Tensor sum_to(const Tensor& g, const Shape& shape);

}  // namespace octet
