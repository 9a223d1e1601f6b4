#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet {

Shape::Shape(std::initializer_list<int64_t> dims)
    : Shape(std::span<const int64_t>(dims.begin(), dims.size())) {}

Shape::Shape(std::span<const int64_t> dims) {
  if (dims.size() > kMaxRank) {
    throw ShapeError("invalid_shape", "shape",
                     fmt::format("at most {} dimensions are supported, got {}",
                                 kMaxRank, dims.size()));
  }
  for (const int64_t dim : dims) {
    if (dim < kAnySize) {
      throw ShapeError(
          "invalid_shape", "shape",
          fmt::format("dimensions must not be negative, got {}", dim));
    }
    dims_[static_cast<size_t>(rank_++)] = dim;
  }
}

int64_t Shape::operator[](int axis) const {
  const int index = axis < 0 ? axis + rank_ : axis;
  if (index < 0 || index >= rank_) {
    throw ShapeError("out_of_range", "axis",
                     fmt::format("{} is not an axis of {}", axis, to_string()));
  }
  return dims_[static_cast<size_t>(index)];
}

int64_t Shape::size() const {
  int64_t size = 1;
  bool overflow = false;
  for (const int64_t dim : dims()) {
    if (dim == kAnySize) {
      throw ShapeError("invalid_shape", "shape",
                       fmt::format("{} has unknown dimensions", to_string()));
    }
    overflow |= __builtin_mul_overflow(size, dim, &size);
  }
  if (overflow) {
    throw ShapeError("invalid_shape", "shape",
                     fmt::format("{} has 2^63 or more elements", to_string()));
  }
  return size;
}

Shape Shape::with(int axis, int64_t dim) const {
  Shape result = *this;
  (void)(*this)[axis];  // checks the axis
  result.dims_[static_cast<size_t>(axis < 0 ? axis + rank_ : axis)] = dim;
  return result;
}

Shape Shape::slice(int first, int last) const {
  if (first < 0 || last < first || last > rank_) {
    throw ShapeError("out_of_range", "shape",
                     fmt::format("[{},{}) is not a range of axes of {}", first,
                                 last, to_string()));
  }
  return Shape(dims().subspan(static_cast<size_t>(first),
                              static_cast<size_t>(last - first)));
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (const int64_t dim : dims()) {
    if (text.size() > 1) text += ',';
    text += dim == kAnySize ? "N" : std::to_string(dim);
  }
  return text + "]";
}

}  // namespace octet
