#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/system.h>
#include <octet/runtime/tensor.h>

#include "arena.h"
#include "layouts.h"

namespace octet {

int64_t size_of(DType type) {
  switch (type) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::i64:
      return 8;
    case DType::i16:
      return 2;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
      return 1;
  }
  throw InternalError("internal", "size_of", "unknown element type");
}

std::string_view to_string(DType type) {
  switch (type) {
    case DType::f32:
      return "f32";
    case DType::i8:
      return "i8";
    case DType::u8:
      return "u8";
    case DType::i16:
      return "i16";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::boolean:
      return "bool";
  }
  return "?";
}

Tensor::Tensor(const Shape& shape, DType type)
    : shape_(shape), type_(type), size_(shape.size()) {
  int64_t bytes = 0;
  if (__builtin_mul_overflow(size_, size_of(type), &bytes) ||
      bytes > int64_t{1} << 46) {
    throw ShapeError(
        "memory_limit", "tensor",
        fmt::format("{} of {} exceeds the largest size of 2^46 bytes",
                    shape.to_string(), octet::to_string(type)));
  }
  (void)active_isa();  // reports an invalid OCTET_ISA early
  buffer_ = with_context(
      [&] {
        return fmt::format("for a tensor {} of {}", shape.to_string(),
                           octet::to_string(type));
      },
      [&] { return arena::take(bytes); });
  data_ = buffer_->data;
}

Tensor Tensor::full(const Shape& shape, float value) {
  Tensor result(shape);
  std::ranges::fill(result.f32(), value);
  return result;
}

Tensor Tensor::zeros(const Shape& shape, DType type) {
  Tensor result(shape, type);
  std::memset(result.raw(), 0, static_cast<size_t>(result.bytes()));
  return result;
}

Tensor Tensor::scalar(float value) { return full(Shape{}, value); }

Tensor Tensor::from_bytes(const Shape& shape, DType type, const void* values,
                          size_t count) {
  if (shape.size() != static_cast<int64_t>(count)) {
    throw ShapeError("count_mismatch", "tensor",
                     fmt::format("{} needs {} values, got {}",
                                 shape.to_string(), shape.size(), count));
  }
  Tensor result(shape, type);
  if (count > 0) {
    std::memcpy(result.raw(), values, static_cast<size_t>(result.bytes()));
  }
  return result;
}

Tensor::Tensor(const Tensor& other)
    : shape_(other.shape_),
      type_(other.type_),
      size_(other.size_),
      buffer_(other.buffer_),
      data_(other.data_) {
  if (buffer_ != nullptr) ++buffer_->references;
}

Tensor::Tensor(Tensor&& other) noexcept
    : shape_(other.shape_),
      type_(other.type_),
      size_(std::exchange(other.size_, 0)),
      buffer_(std::exchange(other.buffer_, nullptr)),
      data_(std::exchange(other.data_, nullptr)) {}

Tensor& Tensor::operator=(Tensor other) noexcept {
  std::swap(shape_, other.shape_);
  std::swap(type_, other.type_);
  std::swap(size_, other.size_);
  std::swap(buffer_, other.buffer_);
  std::swap(data_, other.data_);
  return *this;
}

Tensor::~Tensor() {
  if (buffer_ != nullptr && --buffer_->references == 0) arena::give(buffer_);
}

float Tensor::item() const {
  if (size_ != 1) {
    throw ShapeError("invalid_shape", "item",
                     fmt::format("needs a tensor with 1 element, got {}",
                                 empty() ? "no tensor" : shape_.to_string()));
  }
  return f32()[0];
}

Tensor Tensor::clone() const {
  if (empty()) return {};
  return from_bytes(shape_, type_, data_, static_cast<size_t>(size_));
}

Shape reshaped(const Shape& from, const Shape& shape) {
  const int64_t size = from.size();
  Shape resolved = shape;
  int64_t known = 1;
  int unknown = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == Shape::kAnySize) {
      if (unknown >= 0) {
        throw ShapeError("invalid_shape", "reshape",
                         fmt::format("{} has more than one unknown dimension",
                                     shape.to_string()));
      }
      unknown = axis;
    } else {
      known *= shape[axis];
    }
  }
  if (unknown >= 0 && known > 0) resolved = shape.with(unknown, size / known);
  if ((unknown >= 0 && known == 0) || resolved.size() != size) {
    throw ShapeError("shape_mismatch", "reshape",
                     fmt::format("{} does not fit the {} elements of {}",
                                 shape.to_string(), size, from.to_string()));
  }
  return resolved;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  Tensor result = *this;
  result.shape_ = octet::reshaped(shape_, shape);
  return result;
}

Tensor Tensor::slice(int64_t first, int64_t count) const {
  if (shape_.rank() == 0 || first < 0 || count < 0 || first > shape_[0] ||
      count > shape_[0] - first) {
    throw ShapeError("out_of_range", "slice",
                     fmt::format("[{},{}) is not a range of rows of {}", first,
                                 first + count, shape_.to_string()));
  }
  Tensor result = *this;
  const int64_t row = shape_[0] == 0 ? 0 : size_ / shape_[0];
  result.shape_ = shape_.with(0, count);
  result.size_ = row * count;
  result.data_ = static_cast<char*>(data_) + first * row * size_of(type_);
  return result;
}

namespace {

// Transposes blocks of whole cache lines, for sources that are contiguous along
// axis `run` instead of the last.
template <class T>
void gather_blocks(T* to, const T* from, std::span<const int64_t> dims,
                   std::span<const int64_t> strides, size_t run) {
  constexpr int64_t kBlock = 16;
  const size_t last = dims.size() - 1;
  std::array<int64_t, Shape::kMaxRank> to_strides{};
  int64_t size = 1;
  for (size_t axis = dims.size(); axis-- > 0;) {
    to_strides[axis] = size;
    size *= dims[axis];
  }
  const int64_t columns = dims[last];
  const int64_t blocks = (dims[run] + kBlock - 1) / kBlock;
  const int64_t tasks = size / (dims[run] * columns) * blocks;
  const auto copy = [&](int64_t task) {
    const int64_t first = task % blocks * kBlock;
    const int64_t end = std::min(first + kBlock, dims[run]);
    const T* source = from;
    T* target = to;
    int64_t rest = task / blocks;
    for (size_t axis = last; axis-- > 0;) {
      if (axis == run) continue;
      source += rest % dims[axis] * strides[axis];
      target += rest % dims[axis] * to_strides[axis];
      rest /= dims[axis];
    }
    for (int64_t column = 0; column < columns; column += kBlock) {
      const int64_t to_column = std::min(column + kBlock, columns);
      for (int64_t i = first; i < end; ++i) {
        for (int64_t j = column; j < to_column; ++j) {
          target[i * to_strides[run] + j] = source[i + j * strides[last]];
        }
      }
    }
  };
  constexpr int64_t kWorthThreads = int64_t{1} << 15;
  if (size >= kWorthThreads) {
    parallel_for(tasks, copy);
  } else {
    for (int64_t task = 0; task < tasks; ++task) copy(task);
  }
}

// Copies in the order of the result; `strides` are the source's strides per
// result axis.
template <class T>
void gather(T* to, const T* from, std::span<const int64_t> dims,
            std::span<const int64_t> strides) {
  if (dims.empty()) {
    *to = *from;
    return;
  }
  if (strides.back() != 1) {
    for (size_t axis = 0; axis + 1 < dims.size(); ++axis) {
      if (strides[axis] != 1 || dims[axis] == 1) continue;
      return gather_blocks(to, from, dims, strides, axis);
    }
  }
  std::array<int64_t, Shape::kMaxRank> index{};
  const size_t last = dims.size() - 1;
  const int64_t inner = dims[last];
  int64_t offset = 0;
  while (true) {
    for (int64_t i = 0; i < inner; ++i)
      *to++ = from[offset + i * strides[last]];
    size_t axis = last;
    while (axis > 0) {
      --axis;
      offset += strides[axis];
      if (++index[axis] < dims[axis]) break;
      offset -= strides[axis] * dims[axis];
      index[axis] = 0;
      if (axis == 0) return;
    }
    if (last == 0) return;
  }
}

void expect_permutation(std::span<const int> order, int rank) {
  std::array<bool, Shape::kMaxRank> seen{};
  bool valid = static_cast<int>(order.size()) == rank;
  for (size_t i = 0; valid && i < order.size(); ++i) {
    const int axis = order[i];
    valid = axis >= 0 && axis < rank && !seen[static_cast<size_t>(axis)];
    if (valid) seen[static_cast<size_t>(axis)] = true;
  }
  if (valid) return;
  throw ShapeError(
      "invalid_value", "transpose",
      fmt::format("the order must be a permutation of {} axes", rank));
}

}  // namespace

Tensor Tensor::transposed(std::span<const int> order) const {
  expect_permutation(order, shape_.rank());
  std::array<int64_t, Shape::kMaxRank> dims{};
  for (size_t i = 0; i < order.size(); ++i) dims[i] = shape_[order[i]];
  Tensor result(Shape(std::span<const int64_t>(dims.data(), order.size())),
                type_);
  transpose_into(*this, order, result);
  return result;
}

void transpose_into(const Tensor& x, std::span<const int> order, Tensor& y) {
  const int rank = x.shape().rank();
  expect_permutation(order, rank);
  std::array<int64_t, Shape::kMaxRank> own{};
  int64_t stride = 1;
  for (int axis = rank - 1; axis >= 0; --axis) {
    own[static_cast<size_t>(axis)] = stride;
    stride *= x.shape()[axis];
  }
  std::array<int64_t, Shape::kMaxRank> strides{};
  for (size_t i = 0; i < order.size(); ++i) {
    strides[i] = own[static_cast<size_t>(order[i])];
  }
  if (x.size() == 0) return;
  const auto copy = [&]<class T>(T*) {
    gather(static_cast<T*>(y.raw()), static_cast<const T*>(x.raw()),
           y.shape().dims(), {strides.data(), order.size()});
  };
  switch (size_of(x.dtype())) {
    case 1:
      copy(static_cast<uint8_t*>(nullptr));
      break;
    case 2:
      copy(static_cast<uint16_t*>(nullptr));
      break;
    case 4:
      copy(static_cast<uint32_t*>(nullptr));
      break;
    default:
      copy(static_cast<uint64_t*>(nullptr));
  }
}

bool Tensor::is_shared() const {
  return buffer_ != nullptr && buffer_->references.load() > 1;
}

uint64_t Tensor::writes() const {
  return buffer_ == nullptr ? 0 : buffer_->writes.load();
}

void Tensor::count_write() const {
  if (buffer_ != nullptr) ++buffer_->writes;
}

bool Tensor::being_written() const {
  return buffer_ != nullptr && buffer_->writers.load() > 0;
}

void Tensor::begin_writing() const {
  ++buffer_->writers;
  ++buffer_->writes;
}

// In this order: a reader that sees no writers must not see the old count.
void Tensor::end_writing() const noexcept {
  ++buffer_->writes;
  --buffer_->writers;
}

void Tensor::check_type(DType expected) const {
  if (type_ != expected) {
    throw ValueError(
        "dtype_mismatch", "tensor",
        fmt::format("has elements of type {}, accessed as {}",
                    octet::to_string(type_), octet::to_string(expected)));
  }
}

}  // namespace octet
