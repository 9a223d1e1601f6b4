// NumPy's broadcasting of two tensors: which values of each meet. Axes are
// aligned at the last one; where one tensor has size 1 or no axis at all, its
// values repeat.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <type_traits>

#include <octet/runtime/tensor.h>

#include "partitions.h"

namespace octet {

/// The shape that `x` and `y` broadcast to; nothing if they do not fit.
std::optional<Shape> broadcast_shape(const Shape& x, const Shape& y);

/// How the values of x and y lie in the result. Neighbouring axes along which
/// both move, or the same one repeats, are taken together: equal shapes are
/// one axis, [n,h,w,c] with [n,1,1,c] three, with [c] two.
class Broadcast {
 public:
  struct Axis {
    int64_t size;
    bool x;  // whether x moves along the axis, or repeats
    bool y;
  };

  /// Throws: ShapeError naming `op` and both shapes.
  Broadcast(const char* op, const Shape& x, const Shape& y);

  const Shape& shape() const { return shape_; }
  /// Outermost first; at least one.
  std::span<const Axis> axes() const {
    return {axes_.data(), static_cast<size_t>(count_)};
  }

  /// Runs `run(at, x_at, y_at, n)` for runs of values along the last axis, in
  /// partitions; the arguments are the offsets of their first values.
  template <class Run>
  void for_each_run(const Run& run) const {
    parallel_partitions(shape_.size(), [&](int64_t first, int64_t last) {
      for (Cursor at = cursor(first); at.at < last;) {
        const int64_t n = std::min(at.left, last - at.at);
        run(at.at, at.x, at.y, n);
        advance(at, n);
      }
    });
  }

 private:
  struct Cursor {
    int64_t at, x, y;
    int64_t left;  // in the run
    std::array<int64_t, Shape::kMaxRank> index;
  };

  Cursor cursor(int64_t at) const;
  // Past `n` values; to the next run where they were all that was left.
  void advance(Cursor& cursor, int64_t n) const;

  Shape shape_;
  std::array<Axis, Shape::kMaxRank> axes_{};
  std::array<int64_t, Shape::kMaxRank> x_steps_{};
  std::array<int64_t, Shape::kMaxRank> y_steps_{};
  int count_ = 0;
};

/// out = f(x, y), or f(g, x, y) with a `g` of the result's shape, value by
/// value.
template <class F>
Tensor combine(const Broadcast& plan, const Tensor& g, const Tensor& x,
               const Tensor& y, F f) {
  Tensor out(plan.shape());
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
  const Broadcast::Axis inner = plan.axes().back();
  plan.for_each_run([&](int64_t at, int64_t x_at, int64_t y_at, int64_t n) {
    const float* const xs = from_x + x_at;
    const float* const ys = from_y + y_at;
    const auto one = [](const float* p) {
      return [v = *p](int64_t) { return v; };
    };
    const auto many = [](const float* p) {
      return [p](int64_t i) { return p[i]; };
    };
    if (inner.x && inner.y) return loop(at, n, many(xs), many(ys));
    if (inner.x) return loop(at, n, many(xs), one(ys));
    loop(at, n, one(xs), many(ys));
  });
  return out;
}

/// The other way: sums `g` down to `shape`, which broadcasts to g's. Sums run
/// in doubles and in an order set by the shapes alone.
/// Throws: ShapeError if `shape` does not broadcast to g's.
Tensor sum_to(const Tensor& g, const Shape& shape);

}  // namespace octet
