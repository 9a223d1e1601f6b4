// Tensor: a shared handle to a 64-byte aligned, contiguous, row-major buffer.
// Copying a Tensor shares the buffer; clone() copies it. Distinct tensors may
// be used from different threads; a buffer may be written by one thread at a
// time. Elements are accessed through named tensors only: the buffer of a
// temporary may be freed with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include <octet/runtime/shape.h>

namespace octet {

/// Element types. Arithmetic uses f32; the other types are for storage.
enum class DType { f32, i8, u8, i32, i64, boolean };

/// Bytes per element.
int64_t size_of(DType type);
/// "f32", "i8", ...
std::string_view to_string(DType type);

template <class T>
struct DTypeOf;
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;
};
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;
};

struct Buffer;
class Variable;

class [[nodiscard]] Tensor {
 public:
  /// An empty handle: `empty()` is true.
  Tensor() = default;
  /// Contents are undefined. Throws: ShapeError if the size overflows or a
  /// dimension is unknown.
  explicit Tensor(const Shape& shape, DType type = DType::f32);
  /// Every element set to `value`.
  static Tensor full(const Shape& shape, float value);
  static Tensor zeros(const Shape& shape, DType type = DType::f32);
  /// A rank-0 tensor.
  static Tensor scalar(float value);
  /// A copy of `values`. Throws: ShapeError if the counts differ.
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    return from_bytes(shape, DTypeOf<T>::value, values.data(), values.size());
  }
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of(shape, std::span<const T>(values.begin(), values.size()));
  }

  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor other) noexcept;
  ~Tensor();

  bool empty() const { return buffer_ == nullptr; }
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }
  DType dtype() const { return type_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * size_of(type_); }

  /// The elements. Throws: ValueError if T is not the element type.
  template <class T>
  std::span<T> data() & {
    check_type(DTypeOf<T>::value);
    return {static_cast<T*>(data_), static_cast<size_t>(size_)};
  }
  template <class T>
  std::span<const T> data() const& {
    check_type(DTypeOf<T>::value);
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }
  std::span<float> f32() & { return data<float>(); }
  std::span<const float> f32() const& { return data<float>(); }
  void* raw() & { return data_; }
  const void* raw() const& { return data_; }

  // Not for temporaries, whose buffer would be freed: `for (float v :
  // model.predict(x).f32())`. Name the tensor: `const Tensor y =
  // model.predict(x);`, then `y.f32()`.
  template <class T>
  void data() const&& = delete;
  void f32() const&& = delete;
  void raw() const&& = delete;

  /// Number of writes through Variables to the buffer, by any handle.
  uint64_t writes() const;
  /// Whether a WriteSpan of the buffer exists.
  bool being_written() const;

  /// The value of a one-element f32 tensor. Throws: ShapeError otherwise.
  float item() const;

  /// A deep copy.
  Tensor clone() const;
  /// Returns the same buffer with another shape of equal size. A dimension may
  /// be kAnySize. Throws: ShapeError if the sizes differ.
  Tensor reshaped(const Shape& shape) const;
  /// Returns rows [first, first + count) of the outermost dimension; shares the
  /// buffer. Throws: ShapeError if out of range.
  Tensor slice(int64_t first, int64_t count) const;
  /// Returns a copy with permuted axes: result axis i is axis `order[i]`.
  /// Throws: ShapeError if `order` is not a permutation.
  Tensor transposed(std::span<const int> order) const;
  Tensor transposed(std::initializer_list<int> order) const {
    return transposed(std::span<const int>(order.begin(), order.size()));
  }

 private:
  friend class Variable;
  friend class WriteSpan;
  static Tensor from_bytes(const Shape& shape, DType type, const void* values,
                           size_t count);
  /// Whether other handles share the buffer.
  bool is_shared() const;
  void check_type(DType expected) const;
  void count_write() const;
  void begin_writing() const;
  void end_writing() const noexcept;

  Shape shape_;
  DType type_ = DType::f32;
  int64_t size_ = 0;
  Buffer* buffer_ = nullptr;
  void* data_ = nullptr;
};

}  // namespace octet
