// Checks that several layers share, in the same words everywhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <octet/layers/padding.h>
#include <octet/runtime/shape.h>

namespace octet {

/// Sizes that people give. The upper bounds keep products of them in int64.
/// Throws: ValueError "`what`: expected ..., got `value`".
void expect_count(const char* what, int64_t value);  // [1, 2^31)
void expect_window(const char* what, Size2 value, int64_t least = 1);  // < 2^20
/// Cells given one by one, [0, 2^20).
void expect_padding(const Padding& padding);
void expect_ends(const char* what, const Ends& ends);
/// [0, infinity). Throws: ValueError as above.
void expect_not_negative(const char* what, float value);

/// Of dropout. Throws: ValueError outside [0,1).
void expect_rate(float rate);

/// The shape of the noise that is drawn for x: `given`, where -1 is x's own
/// size, or x's. Throws: ShapeError unless its sizes are those of x or 1.
Shape noise_shape(const std::vector<int64_t>& given, const Shape& x);

/// Of normalizations: > 0 and finite. Throws: ValueError.
void expect_epsilon(float epsilon);
/// Throws: ShapeError for rank < 2; UnsupportedError for other axes than the
/// last one.
void expect_last_axis(const std::vector<int64_t>& axis, const Shape& x);

/// The one input. Throws: ValueError if there are more or none.
const Shape& single_input(std::span<const Shape> inputs);
/// The one input, an image [n,h,w,c]. Throws: ShapeError.
const Shape& image_input(std::span<const Shape> inputs);

/// The one input, a sequence [n,l,c]. Throws: ShapeError.
const Shape& sequence_input(std::span<const Shape> inputs);

/// The one input, tokens [n,t,d]. Throws: ShapeError.
const Shape& token_input(std::span<const Shape> inputs);

/// Throws: ShapeError if there are no positions for a window on `x`, which for
/// a sequence is one of a row.
void expect_window_fits(const Shape& x, Size2 window, int64_t oh, int64_t ow);

}  // namespace octet
