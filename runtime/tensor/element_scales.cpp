#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>

namespace octet {
namespace {

int positive_axis(const Shape& shape, int axis) {
  (void)shape[axis];  // throws if out of range
  return axis < 0 ? axis + shape.rank() : axis;
}

}  // namespace

Shape shape_of_blocks(const Shape& shape, int axis, int64_t block) {
  if (block < 1) {
    throw ValueError("out_of_range", "quantization parameters",
                     fmt::format("block must be >= 1, got {}", block));
  }
  const int at = positive_axis(shape, axis);
  return shape.with(at, (shape[at] + block - 1) / block);
}

ElementScales::ElementScales(const Shape& shape, const QuantParams& qparams)
    : inner_(static_cast<size_t>(std::max<int64_t>(shape.size(), 1))) {
  if (qparams.empty()) {
    throw ValueError("missing_value", "quantization parameters", "no scale");
  }
  const Shape& given = qparams.scale.shape();
  Shape expected;
  if (qparams.block != 0) {
    expected = shape_of_blocks(shape, qparams.axis, qparams.block);
  } else if (qparams.per_channel()) {
    expected = {shape[qparams.axis]};
  }
  if (given != expected) {
    throw ShapeError(
        "count_mismatch", "quantization parameters",
        qparams.block != 0
            ? fmt::format("blocks of {} on axis {} of {} need scales of shape "
                          "{}, got {}",
                          qparams.block, qparams.axis, shape.to_string(),
                          expected.to_string(), given.to_string())
            : fmt::format("axis {} of {} needs scales of shape {}, got {}",
                          qparams.axis, shape.to_string(), expected.to_string(),
                          given.to_string()));
  }
  if (expected.rank() > 0) {
    const int axis = positive_axis(shape, qparams.axis);
    inner_ = static_cast<size_t>(
        std::max<int64_t>(shape.slice(axis + 1, shape.rank()).size(), 1));
    size_ = static_cast<size_t>(shape[axis]);
    block_ = static_cast<size_t>(qparams.block);
  }
  const auto scales = std::as_const(qparams.scale).f32();
  scales_.assign(scales.begin(), scales.end());
}

Tensor absmax_per_block(const Tensor& x, int axis, int64_t block) {
  QuantParams map{.axis = axis, .block = block};
  Tensor result = Tensor::zeros(shape_of_blocks(x.shape(), axis, block));
  map.scale = result;
  const ElementScales scales(x.shape(), map);
  const auto values = x.f32();
  const auto tops = result.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    float& top = tops[scales.index(i)];
    const float magnitude = std::fabs(values[i]);
    if (magnitude > top || std::isnan(magnitude)) top = magnitude;
  }
  return result;
}

}  // namespace octet
