// What a shape that does not fit may come from: the usual slips with images.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/shape.h>

namespace octet {

/// Who reads the hints of messages: they name calls of C++, or options of the
/// command line.
enum class HintStyle { cpp, command_line };
/// Of the whole program; cpp unless set.
HintStyle hint_style();
void set_hint_style(HintStyle style);

enum class ShapeSlip {
  none,
  no_samples_axis,   ///< one sample, without the axis of samples
  no_channels_axis,  ///< an axis of size 1 is missing or too many
  channels_first,    ///< NCHW, where NHWC is wanted
  channels_last,     ///< NHWC, where NCHW is wanted
  flattened,         ///< samples as vectors of as many values
  another_order,     ///< the same sizes in another order
};

/// How `given`, a shape of samples [n,...], may have missed `wanted`, in which
/// sizes may be Shape::kAnySize.
ShapeSlip slip_of(const Shape& given, const Shape& wanted);

/// ". Hint: x.transposed({0,2,3,1}) ..." in Octet's words for the tensor `x`,
/// in NumPy's for the command line, or nothing.
std::string shape_hint(const Shape& given, const Shape& wanted,
                       std::string_view x = "x");

/// The order of axes that turns samples `given` [n,...] into `wanted`, in which
/// sizes may be Shape::kAnySize: {0,2,1} for [8,2,4] and [N,4,2]. Of several
/// orders one that moves channels first or last is preferred. Empty if the
/// shapes are equal or no order fits.
std::vector<int> transposition(const Shape& given, const Shape& wanted);

/// ". Hint: ..." for labels that must have the shape of `wanted`: the
/// transposition that fits, else a reshape of as many values, else nothing.
std::string label_shape_hint(const Shape& given, const Shape& wanted,
                             std::string_view labels = "labels");

}  // namespace octet
