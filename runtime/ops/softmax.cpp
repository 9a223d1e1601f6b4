#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "row_sums.h"
#include "tensor/arena.h"

namespace octet {
namespace {

// Vectors of values along an axis. Those along the last axis are contiguous,
// others are gathered.
struct Lines {
  int64_t length;  // of a line
  int64_t step;    // between its values
  int64_t count;

  Lines(const Shape& shape, int axis)
      : length(shape[axis]),
        step(shape.slice(axis + 1, shape.rank()).size()),
        count(shape.slice(0, axis).size() * step) {}

  int64_t start(int64_t i) const { return i / step * length * step + i % step; }
  const float* read(const float* values, int64_t i, int slot) const {
    if (step == 1) return values + i * length;
    const float* from = values + start(i);
    float* line = arena::scratch(slot, length);
    for (int64_t k = 0; k < length; ++k) line[k] = from[k * step];
    return line;
  }
  // Buffer for the results of line i.
  float* target(float* values, int64_t i) const {
    return step == 1 ? values + i * length : arena::scratch(3, length);
  }
  void write(float* values, int64_t i, const float* line) const {
    if (step == 1) return;
    float* to = values + start(i);
    for (int64_t k = 0; k < length; ++k) to[k * step] = line[k];
  }
};

void softmax_rows(const float* x, float* y, int64_t rows, int64_t n) {
  kernels::table().softmax({.x = x, .y = y, .rows = rows, .n = n, .row = n});
}

void softmax_lines(const Tensor& x, const Lines& lines, Tensor& y) {
  const float* from = x.f32().data();
  float* to = y.f32().data();
  parallel_chunks(lines.count, [&](int64_t first, int64_t last, int64_t) {
    if (lines.step == 1) {
      const int64_t at = first * lines.length;
      return softmax_rows(from + at, to + at, last - first, lines.length);
    }
    for (int64_t i = first; i < last; ++i) {
      float* row = lines.target(to, i);
      softmax_rows(lines.read(from, i, 0), row, 1, lines.length);
      lines.write(to, i, row);
    }
  });
}

}  // namespace

Variable softmax(const Variable& x, int axis) {
  const Shape& shape = x.shape();
  if (axis < -shape.rank() || axis >= shape.rank() || shape[axis] < 1) {
    throw ShapeError("out_of_range", "softmax",
                     fmt::format("axis {} of {} is empty or does not exist",
                                 axis, shape.to_string()));
  }
  if (axis < 0) axis += shape.rank();
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "softmax",
        .inputs = {x},
        .shape = shape,
        .attributes = inference::SoftmaxAxis{axis},
        .forward =
            [axis](std::span<const Tensor> in, Tensor& y) {
              softmax_lines(in[0], Lines(y.shape(), axis), y);
            },
        .across_samples = axis == 0};
  });
  if (traced) return traced;
  const Lines lines(shape, axis);
  Tensor y(shape);
  softmax_lines(x.value(), lines, y);
  // Losses recognize softmax over the last axis by this name.
  const auto* name = lines.step == 1 ? "softmax" : "softmax of an inner axis";
  return record(name, {x}, y, {}, [y, lines](const Tensor& dy) {
    Tensor dx(y.shape());
    const float* p = y.f32().data();
    const float* g = dy.f32().data();
    float* out = dx.f32().data();
    parallel_chunks(lines.count, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        const float* pr = lines.read(p, i, 0);
        const float* gr = lines.read(g, i, 1);
        float* row = lines.target(out, i);
        const float dot = static_cast<float>(row_sum(
            lines.length, [=](int64_t k) { return double{gr[k]} * pr[k]; }));
        for (int64_t k = 0; k < lines.length; ++k) {
          row[k] = pr[k] * (gr[k] - dot);
        }
        lines.write(out, i, row);
      }
    });
    return std::vector{dx};
  });
}

}  // namespace octet
