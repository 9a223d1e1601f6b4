#include "broadcast.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

// Size along an axis of the result; 1 if the shape lacks the axis.
int64_t aligned(const Shape& shape, int axis, int rank) {
  const int own = axis - (rank - shape.rank());
  return own < 0 ? 1 : shape[own];
}

}  // namespace

std::optional<Shape> broadcast_shape(const Shape& x, const Shape& y) {
  const int rank = std::max(x.rank(), y.rank());
  std::array<int64_t, Shape::kMaxRank> dims{};
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t a = aligned(x, axis, rank);
    const int64_t b = aligned(y, axis, rank);
    if (a != b && a != 1 && b != 1) return std::nullopt;
    dims[static_cast<size_t>(axis)] = a == 1 ? b : a;
  }
  return Shape(std::span<const int64_t>(dims).first(static_cast<size_t>(rank)));
}

Broadcast::Broadcast(const char* op, const Shape& x, const Shape& y) {
  const std::optional<Shape> shape = broadcast_shape(x, y);
  if (!shape) {
    throw ShapeError(
        "shape_mismatch", op,
        fmt::format("shapes {} and {} do not broadcast (sizes, aligned at the "
                    "last axis, must be equal or 1)",
                    x.to_string(), y.to_string()));
  }
  shape_ = *shape;
  const int rank = shape_.rank();
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t size = shape_[axis];
    if (size == 1) continue;
    const Axis next{size, aligned(x, axis, rank) != 1,
                    aligned(y, axis, rank) != 1};
    if (count_ > 0) {
      Axis& last = axes_[static_cast<size_t>(count_ - 1)];
      if (last.x == next.x && last.y == next.y) {
        last.size *= size;
        continue;
      }
    }
    axes_[static_cast<size_t>(count_++)] = next;
  }
  if (count_ == 0) axes_[static_cast<size_t>(count_++)] = {1, true, true};
  find_strides();
}

// If both operands advance along the last axis and only one along the axis
// before, the two form a run in which the other operand cycles.
void Broadcast::find_strides() {
  int64_t x_size = 1;
  int64_t y_size = 1;
  stride_count_ = count_;
  for (size_t i = static_cast<size_t>(count_); i-- > 0;) {
    const Axis& axis = axes_[i];
    strides_[i] = {axis.size, axis.x ? x_size : 0, axis.y ? y_size : 0};
    if (axis.x) x_size *= axis.size;
    if (axis.y) y_size *= axis.size;
  }
  if (count_ < 2) return;
  const Strides inner = strides_[last_stride()];
  Strides& outer = strides_[last_stride() - 1];
  if (inner.x == 0 || inner.y == 0) return;
  period_ = inner.size;
  outer = {outer.size * inner.size, outer.x == 0 ? 0 : 1, outer.y == 0 ? 0 : 1};
  --stride_count_;
}

Broadcast::Cursor Broadcast::cursor(int64_t at) const {
  Cursor result{at, 0, 0, 0, {}};
  int64_t rest = at;
  for (size_t i = static_cast<size_t>(stride_count_); i-- > 0;) {
    const Strides& step = strides_[i];
    if (step.size == 0) return result;
    const int64_t index = rest % step.size;
    rest /= step.size;
    result.index[i] = index;
    result.x += index * step.x;
    result.y += index * step.y;
  }
  result.left = strides_[last_stride()].size - result.index[last_stride()];
  return result;
}

void Broadcast::advance(Cursor& c, int64_t n) const {
  size_t i = last_stride();
  c.at += n;
  c.x += n * strides_[i].x;
  c.y += n * strides_[i].y;
  c.index[i] += n;
  c.left -= n;
  if (c.left > 0) return;
  c.left = strides_[i].size;
  while (c.index[i] == strides_[i].size) {
    c.x -= c.index[i] * strides_[i].x;
    c.y -= c.index[i] * strides_[i].y;
    c.index[i] = 0;
    if (i == 0) return;
    --i;
    c.index[i] += 1;
    c.x += strides_[i].x;
    c.y += strides_[i].y;
  }
}

namespace {

// Eight partial sums, added pairwise: a fixed order that vectorizes.
double gradient_sum(const float* g, int64_t n) {
  std::array<double, 8> chains{};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    for (size_t k = 0; k < 8; ++k) chains[k] += g[i + static_cast<int64_t>(k)];
  }
  for (; i < n; ++i) chains[0] += g[i];
  return ((chains[0] + chains[4]) + (chains[1] + chains[5])) +
         ((chains[2] + chains[6]) + (chains[3] + chains[7]));
}

// Sums g, with axes `axes`, into `sums`, which has the axes along which y
// advances.
class BroadcastSum {
 public:
  explicit BroadcastSum(std::span<const Broadcast::Axis> axes) : axes_(axes) {
    for (size_t i = axes_.size(); i-- > 0;) {
      g_steps_[i] = g_size_;
      y_steps_[i] = axes_[i].y ? y_size_ : 0;
      g_size_ *= axes_[i].size;
      if (axes_[i].y) y_size_ *= axes_[i].size;
    }
  }

  int64_t outputs() const { return y_size_; }

  // Sums indices [first, last) of axis `level` and all inner axes.
  void run(double* sums, const float* g, size_t level, int64_t first,
           int64_t last) const {
    if (level + 1 == axes_.size()) {
      if (!axes_[level].y) {
        sums[0] += gradient_sum(g + first, last - first);
      } else {
        for (int64_t i = first; i < last; ++i) sums[i] += g[i];
      }
      return;
    }
    for (int64_t i = first; i < last; ++i) {
      run(sums + i * y_steps_[level], g + i * g_steps_[level], level + 1, 0,
          axes_[level + 1].size);
    }
  }

 private:
  std::span<const Broadcast::Axis> axes_;
  std::array<int64_t, Shape::kMaxRank> g_steps_{};
  std::array<int64_t, Shape::kMaxRank> y_steps_{};
  int64_t g_size_ = 1;
  int64_t y_size_ = 1;
};

}  // namespace

Tensor sum_to(const Tensor& g, const Shape& shape) {
  if (g.shape() == shape) return g;
  if (broadcast_shape(g.shape(), shape) != g.shape()) {
    throw ShapeError("shape_mismatch", "gradient",
                     fmt::format("has shape {}, which does not reduce to {}",
                                 g.shape().to_string(), shape.to_string()));
  }
  const Broadcast plan("sum", g.shape(), shape);
  const BroadcastSum reduction(plan.axes());
  const Broadcast::Axis outer = plan.axes()[0];
  const int64_t partitions = std::min(partition_count(g.size()), outer.size);
  const size_t outputs = static_cast<size_t>(reduction.outputs());
  // Partitions along a kept axis write disjoint sums; along a reduced axis each
  // partition has its own copy.
  const size_t copies =
      outer.y ? 1 : static_cast<size_t>(std::max<int64_t>(partitions, 1));
  std::vector<double> sums(outputs * copies, 0.0);
  const float* const from = g.f32().data();
  parallel_for(partitions, [&](int64_t partition) {
    double* const own =
        sums.data() + (outer.y ? 0 : static_cast<size_t>(partition) * outputs);
    reduction.run(own, from, 0, outer.size * partition / partitions,
                  outer.size * (partition + 1) / partitions);
  });
  Tensor result(shape);
  const auto to = result.f32();
  for (size_t i = 0; i < outputs; ++i) {
    for (size_t k = 1; k < copies; ++k) sums[i] += sums[k * outputs + i];
    to[i] = static_cast<float>(sums[i]);
  }
  return result;
}

}  // namespace octet
