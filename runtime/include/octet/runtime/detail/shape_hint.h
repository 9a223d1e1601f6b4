// Hints for shape errors: common mistakes with images and labels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

/// Audience of hints in messages: names C++ functions, or command line options.
enum class HintStyle { cpp, command_line };
/// Process-wide. Default: cpp.
HintStyle hint_style();
void set_hint_style(HintStyle style);

enum class ShapeSlip {
  none,
  no_samples_axis,   ///< a single sample without batch dimension
  no_channels_axis,  ///< an axis of size 1 is missing or superfluous
  channels_first,    ///< NCHW instead of NHWC
  channels_last,     ///< NHWC instead of NCHW
  flattened,         ///< samples flattened to vectors
  another_order,     ///< the same sizes in another order
};

/// Guesses how `given`, a shape of samples [n,...], differs from `wanted`,
/// which may contain Shape::kAnySize.
ShapeSlip slip_of(const Shape& given, const Shape& wanted);

/// Returns ". Hint: x.transposed({0,2,3,1}) ..." for the tensor `x`, in NumPy
/// syntax for the command line, or nothing.
std::string shape_hint(const Shape& given, const Shape& wanted,
                       std::string_view x = "x");

/// Returns the axis permutation from samples `given` [n,...] to `wanted`, which
/// may contain Shape::kAnySize: {0,2,1} for [8,2,4] and [N,4,2]. Prefers
/// permutations that move channels first or last. Empty if shapes are equal or
/// no permutation fits.
std::vector<int> transposition(const Shape& given, const Shape& wanted);

/// Returns ". Hint: ..." for labels that should have the shape `wanted`: a
/// transposition, else a reshape with equal size, else nothing.
std::string label_shape_hint(const Shape& given, const Shape& wanted,
                             std::string_view labels = "labels");

}  // namespace octet
