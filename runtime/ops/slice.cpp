#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {

Variable slice(const Variable& x, int axis, int64_t first, int64_t count) {
  const Shape from = x.shape();
  const int64_t size = from[axis];  // checks the axis
  if (axis < 0) axis += from.rank();
  if (first < 0 || count < 0 || first > size || count > size - first) {
    throw ShapeError(
        fmt::format("slice: expected entries within axis {} of {}, got {} "
                    "from {}",
                    axis, from.to_string(), count, first));
  }
  const Shape shape = from.with(axis, count);
  const int64_t outer = from.slice(0, axis).size();
  const int64_t inner = from.slice(axis + 1, from.rank()).size();
  const size_t row = static_cast<size_t>(count * inner) * sizeof(float);
  Tensor y(shape);
  const float* values = x.value().f32().data();
  float* to = y.f32().data();
  for (int64_t i = 0; i < outer; ++i) {
    std::memcpy(to + i * count * inner, values + (i * size + first) * inner,
                row);
  }
  return record("slice", {x}, y, {}, [=](const Tensor& dy) {
    Tensor dx = Tensor::zeros(from);
    const float* g = dy.f32().data();
    float* out = dx.f32().data();
    for (int64_t i = 0; i < outer; ++i) {
      std::memcpy(out + (i * size + first) * inner, g + i * count * inner, row);
    }
    return std::vector{dx};
  });
}

Variable Variable::operator[](int64_t index) const {
  const Shape from = shape();
  if (from.rank() == 0) {
    throw ShapeError("operator[]: expected a tensor with axes, got []");
  }
  const int64_t size = from[0];
  if (index < -size || index >= size) {
    throw ShapeError(
        fmt::format("operator[]: expected an index in [{},{}) "
                    "for {}, got {}",
                    -size, size, from.to_string(), index));
  }
  return reshape(slice(*this, 0, index < 0 ? index + size : index, 1),
                 from.slice(1, from.rank()));
}

}  // namespace octet
