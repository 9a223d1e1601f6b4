// Parts of a tensor with elements of any type.
#include <array>
#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/detail/tensor_parts.h>
#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet {

Tensor Tensor::operator[](int64_t index) const {
  if (shape_.rank() == 0) {
    throw ShapeError("invalid_shape", "operator[]",
                     "needs a tensor with axes, got a scalar");
  }
  const int64_t size = shape_[0];
  if (index < -size || index >= size) {
    throw ShapeError("out_of_range", "operator[]",
                     fmt::format("index {} is not in [{},{}) for {}", index,
                                 -size, size, shape_.to_string()));
  }
  return slice(index < 0 ? index + size : index, 1)
      .reshaped(shape_.slice(1, shape_.rank()));
}

Tensor Tensor::index(const std::vector<Index>& indices) const {
  const std::vector<AxisPart> parts = parts_of(shape_, indices);
  std::vector<int64_t> kept;
  for (const AxisPart& part : parts) {
    if (!part.dropped) kept.push_back(part.count);
  }
  Tensor y(Shape(std::span<const int64_t>(kept)), type_);
  const auto element = static_cast<size_t>(size_of(type_));
  auto* to = static_cast<char*>(y.data_);
  std::array<int64_t, Shape::kMaxRank> place{};
  for (int64_t i = 0; i < y.size_; ++i, to += element) {
    int64_t from = 0;
    for (size_t axis = 0; axis < parts.size(); ++axis) {
      from = from * shape_[static_cast<int>(axis)] + parts[axis].first +
             place[axis] * parts[axis].step;
    }
    std::memcpy(
        to,
        static_cast<const char*>(data_) + static_cast<size_t>(from) * element,
        element);
    for (size_t axis = parts.size(); axis-- > 0;) {
      if (++place[axis] < parts[axis].count) break;
      place[axis] = 0;
    }
  }
  return y;
}

}  // namespace octet
