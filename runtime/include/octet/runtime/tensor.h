// Tensors: shapes, indices and contiguous arrays of numbers.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

// Shape: up to eight dimensions, outermost first, stored by value.

/// A number of elements: any integer type except bool.
template <class T>
concept Count = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

/// Rows and columns of a window, a stride or a dilation. As in Keras, a single
/// number sets both: `.kernel_size = 3` is `.kernel_size = {3, 3}`. `{}` is 0 x
/// 0: options treat it as "not given", or reject it.
struct Size2 {
  int64_t h = 0;  ///< rows
  int64_t w = 0;  ///< columns

  constexpr Size2() = default;
  constexpr Size2(Count auto both) : Size2(both, both) {}
  constexpr Size2(Count auto rows, Count auto columns)
      : h(static_cast<int64_t>(rows)), w(static_cast<int64_t>(columns)) {}
  bool operator==(const Size2&) const = default;
};

/// Size along the axis of a sequence: `.kernel_size = 3`.
struct Size1 {
  int64_t length = 0;  ///< number of elements

  constexpr Size1() = default;
  constexpr Size1(Count auto n) : length(static_cast<int64_t>(n)) {}
  bool operator==(const Size1&) const = default;
};

/// Dimensions of a tensor. `kAnySize` is the unknown batch size in shapes of a
/// layer graph; shapes of tensors never contain it.
class Shape {
 public:
  static constexpr int kMaxRank = 8;       ///< largest number of dimensions
  static constexpr int64_t kAnySize = -1;  ///< unknown dimension

  Shape() = default;
  /// Creates a shape of these dimensions.
  /// Throws: ShapeError for more than kMaxRank dimensions or any below -1.
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  /// Number of dimensions.
  int rank() const { return rank_; }
  /// The dimension of an axis. Negative axes count from the end. Throws:
  /// ShapeError if out of range.
  int64_t operator[](int axis) const;
  /// All dimensions, outermost first.
  std::span<const int64_t> dims() const {
    return {dims_.data(), static_cast<size_t>(rank_)};
  }

  /// Number of elements; 1 for rank 0.
  /// Throws: ShapeError on overflow or an unknown dimension.
  int64_t size() const;

  /// A copy with another dimension of `axis`. Throws: ShapeError if the axis is
  /// out of range.
  Shape with(int axis, int64_t dim) const;
  /// The dimensions [first, last) as a shape. Throws: ShapeError unless 0 <=
  /// first <= last <= rank().
  Shape slice(int first, int last) const;

  bool operator==(const Shape&) const = default;

  /// "[8,28,28,1]"; unknown dimensions print as N.
  std::string to_string() const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

// Indexing of tensors as in Python and PyTorch: x[:, 1:, 0] is
// x.index({Slice(), Slice(1), 0}).

/// start:stop:step along an axis, stop excluded. Negative bounds count from the
/// end of the axis; missing bounds are the ends of the axis.
struct Slice {
  std::optional<int64_t> start;  ///< first entry; empty: an end of the axis
  std::optional<int64_t> stop;   ///< end, excluded; empty: the other end
  int64_t step = 1;              ///< not 0; negative steps run backwards

  /// Selects [from, to) in steps of `by`, as in Python.
  /// Throws: ValueError for step 0.
  explicit Slice(std::optional<int64_t> from = {},
                 std::optional<int64_t> to = {}, int64_t by = 1);
  bool operator==(const Slice&) const = default;
};

/// Selection along an axis: an entry (which drops the axis), a slice, or "...",
/// which selects all remaining axes.
class Index {
 public:
  /// Kind of a selection.
  enum class Kind { entry, slice, ellipsis };

  /// Selects an entry or a slice. Negative entries count from the end.
  Index(std::integral auto entry) : entry_(static_cast<int64_t>(entry)) {}
  Index(bool) = delete;
  Index(const Slice& slice) : kind_(Kind::slice), slice_(slice) {}
  /// Creates an ellipsis.
  /// Throws: ValueError for text other than "...".
  Index(std::string_view ellipsis);
  Index(const char* ellipsis) : Index(std::string_view(ellipsis)) {}

  /// The kind; the entry or slice if it is of that kind.
  Kind kind() const { return kind_; }
  int64_t entry() const { return entry_; }
  const Slice& slice() const { return slice_; }
  bool operator==(const Index&) const = default;

 private:
  Kind kind_ = Kind::entry;
  int64_t entry_ = 0;
  Slice slice_;
};

// Tensor: contiguous elements of one type.

/// Element types. Arithmetic uses f32; the other types are for storage.
enum class DType { f32, i8, u8, i16, i32, i64, boolean };

/// Bytes per element.
int64_t size_of(DType type);
/// "f32", "i8", "u8", "i16", "i32", "i64" or "bool".
std::string_view to_string(DType type);

/// Element type of a C++ type: `DTypeOf<float>::value` is DType::f32.
template <class T>
struct DTypeOf;
/// Element type of float.
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::f32;  ///< f32
};
/// Element type of int8_t.
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = DType::i8;  ///< i8
};
/// Element type of uint8_t.
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::u8;  ///< u8
};
/// Element type of int16_t.
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = DType::i16;  ///< i16
};
/// Element type of int32_t.
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::i32;  ///< i32
};
/// Element type of int64_t.
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::i64;  ///< i64
};
/// Element type of bool.
template <>
struct DTypeOf<bool> {
  static constexpr DType value = DType::boolean;  ///< boolean
};

struct Buffer;
class Variable;

/// A shared handle to a 64-byte aligned, contiguous, row-major buffer. Copying
/// a Tensor shares the buffer; clone() copies it. Distinct tensors may be used
/// from different threads; a buffer may be written by one thread at a time.
/// Elements are accessed through named tensors only: the buffer of a temporary
/// may be freed with it.
class [[nodiscard]] Tensor {
 public:
  /// An empty handle: `empty()` is true.
  Tensor() = default;
  /// Contents are undefined. Throws: ShapeError if the size overflows or a
  /// dimension is unknown.
  explicit Tensor(const Shape& shape, DType type = DType::f32);
  /// An f32 tensor with every element set to `value`.
  static Tensor full(const Shape& shape, float value);
  /// A tensor of zeros.
  static Tensor zeros(const Shape& shape, DType type = DType::f32);
  /// An f32 tensor of rank 0.
  static Tensor scalar(float value);
  /// A copy of `values`. Throws: ShapeError if the counts differ.
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    return from_bytes(shape, DTypeOf<T>::value, values.data(), values.size());
  }
  /// As above: `Tensor::of<float>({2}, {0.5f, 1})`.
  template <class T>
  static Tensor of(const Shape& shape, std::initializer_list<T> values) {
    return of(shape, std::span<const T>(values.begin(), values.size()));
  }

  /// Copies share the buffer. A moved-from tensor is empty.
  Tensor(const Tensor& other);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor other) noexcept;
  ~Tensor();

  /// Whether the handle is empty; shape, element type, number of elements and
  /// bytes of the tensor. An empty handle has size 0.
  bool empty() const { return buffer_ == nullptr; }
  const Shape& shape() const& { return shape_; }
  Shape shape() && { return shape_; }
  DType dtype() const { return type_; }
  int64_t size() const { return size_; }
  int64_t bytes() const { return size_ * size_of(type_); }

  /// The elements, writable. Writes here are not counted by writes().
  /// Throws: ValueError if T is not the element type.
  template <class T>
  std::span<T> data() & {
    check_type(DTypeOf<T>::value);
    return {static_cast<T*>(data_), static_cast<size_t>(size_)};
  }
  /// The elements, read-only; throws as above.
  template <class T>
  std::span<const T> data() const& {
    check_type(DTypeOf<T>::value);
    return {static_cast<const T*>(data_), static_cast<size_t>(size_)};
  }
  /// data<float>(), and a pointer to elements of any type.
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

  /// The value of a one-element f32 tensor. Throws: ShapeError for another
  /// number of elements, ValueError for another type.
  float item() const;

  /// Whether other handles share the buffer.
  bool is_shared() const;
  /// A copy with a separate buffer.
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

  /// Entry `index` of the first axis, which is dropped; shares the buffer.
  /// Negative counts from the end.
  /// Shapes: [n,...] -> [...]. Throws: ShapeError without axes or out of range.
  Tensor operator[](int64_t index) const;
  /// Returns a copy of a part, as x[:, 1:, 0] in Python: x.index({Slice(),
  /// Slice(1), 0}). Axes with a single entry are dropped; axes without an index
  /// are kept whole.
  /// Throws: ShapeError for more indices than axes or an entry out of range;
  /// ValueError for two ellipses.
  Tensor index(const std::vector<Index>& indices) const;

 private:
  friend class Variable;
  friend class WriteSpan;
  static Tensor from_bytes(const Shape& shape, DType type, const void* values,
                           size_t count);
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

// Text of tensors, shapes and element types, for logs and debugging:
//
//   std::cout << x << "\n" << x.shape() << "\n";
//   log(to_string(x, {.precision = 3}));
//
// Tensors print as in NumPy. For fmt::format() see octet/fmt.h.

/// Format of the elements of a tensor. The defaults are NumPy's.
/// Fields in order: precision, threshold, edge_items, line_width
struct PrintOptions {
  /// Maximum number of digits after the decimal point, [0, 16]. Trailing zeros
  /// are dropped.
  int precision = 8;
  /// Maximum number of elements that are all printed, at least 0. Larger
  /// tensors are abbreviated.
  int64_t threshold = 1000;
  /// Number of entries at each end of an abbreviated axis, at least 1.
  int64_t edge_items = 3;
  int line_width = 75;  ///< characters, at least 1; longer rows are wrapped
};

/// Returns the elements in nested brackets with aligned columns, as
/// numpy.array2string() does: in scientific notation if the largest magnitude
/// is at least 1e6, the smallest below 1e-4, or their ratio above 1000. The
/// shape follows if elements are omitted or missing, the element type unless it
/// is f32: "[1 2 3], dtype=i8". An empty handle is "empty tensor".
/// Throws: ValueError for options out of range.
/// Source: NumPy 2.4, numpy/_core/arrayprint.py.
std::string to_string(const Tensor& x, const PrintOptions& options = {});

/// Prints "f32", "i8", ...
std::ostream& operator<<(std::ostream& out, DType type);
/// Prints "[8,28,28,1]"; unknown dimensions as N.
std::ostream& operator<<(std::ostream& out, const Shape& shape);
/// Prints to_string(x). Stream flags are ignored.
std::ostream& operator<<(std::ostream& out, const Tensor& x);

}  // namespace octet
