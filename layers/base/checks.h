// Argument checks shared by layers. Errors have the name of the option, `what`,
// or "input" as subject.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <octet/layers/convolution.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Sizes from users. The upper bounds prevent overflow of their products in
/// int64. Throw: ValueError.
void expect_count(const char* what, int64_t value);  // [1, 2^31)
void expect_window(const char* what, Size2 value, int64_t least = 1);  // < 2^20
/// Explicit padding or cropping, [0, 2^20).
void expect_padding(const Padding& padding);
void expect_ends(const char* what, const Ends& ends);
/// [0, infinity). Throws: ValueError.
void expect_not_negative(const char* what, float value);

/// Dropout rate. Throws: ValueError outside [0,1).
void expect_rate(float rate);

/// Returns the shape of the random mask for x: x's shape if `given` is empty,
/// else `given` with -1 replaced by x's size. Throws: ShapeError unless each
/// size is 1 or x's.
Shape noise_shape(const std::vector<int64_t>& given, const Shape& x);

/// Checks the factors.
/// Throws: ValueError with subject `what` for a factor that is negative or not
/// finite.
void check_regularizer(const char* what, const Regularizer& regularizer);

/// Epsilon of normalizations: > 0 and finite. Throws: ValueError.
void expect_epsilon(float epsilon);
/// Throws: ShapeError for rank < 2; UnsupportedError for axes other than the
/// last.
void expect_last_axis(const std::vector<int64_t>& axis, const Shape& x);

/// Returns the product, at most INT64_MAX. REQUIRES: factors >= 0.
int64_t product_of(std::initializer_list<int64_t> factors);

/// Returns the only input. Throws: ValueError for any other number of inputs.
const Shape& single_input(std::span<const Shape> inputs);
/// Returns the only input, images [n,h,w,c]. Throws: ShapeError.
const Shape& image_input(std::span<const Shape> inputs);

/// Returns the only input, sequences [n,l,c]. Throws: ShapeError.
const Shape& sequence_input(std::span<const Shape> inputs);

/// Returns the only input, tokens [n,t,d]. Throws: ShapeError.
const Shape& token_input(std::span<const Shape> inputs);

/// Checks that a window has at least one position on `x`. A sequence is an
/// image of one row. Throws: ShapeError.
void expect_window_fits(const Shape& x, Size2 window, int64_t oh, int64_t ow);

/// Throws: ValueError for an unknown name of a function, mode or operation.
[[noreturn]] void throw_unknown_name(const char* what, std::string_view name,
                                     std::vector<std::string> known);

/// Returns the row with that `name`. Throws: ValueError listing all names.
template <class Rows>
const auto& find_named(const char* what, const Rows& rows,
                       std::string_view name) {
  for (const auto& row : rows) {
    if (row.name == name) return row;
  }
  std::vector<std::string> known;
  for (const auto& row : rows) known.emplace_back(row.name);
  throw_unknown_name(what, name, std::move(known));
}

}  // namespace octet
