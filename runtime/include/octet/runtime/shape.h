// Shape: up to eight dimensions, outermost first, stored by value.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <type_traits>

#include <octet/runtime/language.h>

namespace octet {

/// A number of elements: any integer type except bool.
template <class T>
concept Count = std::integral<T> && !std::same_as<std::remove_cv_t<T>, bool>;

/// Rows and columns of a window, a stride or a dilation. As in Keras, a single
/// number sets both: `.kernel_size = 3` is `.kernel_size = {3, 3}`. `{}` is 0 x
/// 0: options treat it as "not given", or reject it.
struct Size2 {
  int64_t h = 0;
  int64_t w = 0;

  constexpr Size2() = default;
  constexpr Size2(Count auto both) : Size2(both, both) {}
  constexpr Size2(Count auto rows, Count auto columns)
      : h(static_cast<int64_t>(rows)), w(static_cast<int64_t>(columns)) {}
  bool operator==(const Size2&) const = default;
};

/// Size along the axis of a sequence: `.kernel_size = 3`.
struct Size1 {
  int64_t length = 0;

  constexpr Size1() = default;
  constexpr Size1(Count auto n) : length(static_cast<int64_t>(n)) {}
  bool operator==(const Size1&) const = default;
};

/// Dimensions of a tensor. `kAnySize` is the unknown batch size in shapes of a
/// layer graph; shapes of tensors never contain it.
class Shape {
 public:
  static constexpr int kMaxRank = 8;
  static constexpr int64_t kAnySize = -1;

  Shape() = default;
  /// Creates a shape of these dimensions.
  /// Throws: ShapeError for more than kMaxRank dimensions or any below -1.
  Shape(std::initializer_list<int64_t> dims);
  explicit Shape(std::span<const int64_t> dims);

  int rank() const { return rank_; }
  /// Negative axes count from the end. Throws: ShapeError if out of range.
  int64_t operator[](int axis) const;
  std::span<const int64_t> dims() const {
    return {dims_.data(), static_cast<size_t>(rank_)};
  }

  /// Number of elements; 1 for rank 0.
  /// Throws: ShapeError on overflow or an unknown dimension.
  int64_t size() const;

  /// A copy with `axis` replaced.
  Shape with(int axis, int64_t dim) const;
  /// The dimensions [first, last) as a shape.
  Shape slice(int first, int last) const;

  bool operator==(const Shape&) const = default;

  /// "[8,28,28,1]"; unknown dimensions print as N.
  std::string to_string() const;

 private:
  std::array<int64_t, kMaxRank> dims_{};
  int rank_ = 0;
};

}  // namespace octet
