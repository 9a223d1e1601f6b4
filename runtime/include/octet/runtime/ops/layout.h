// Reshaping, reordering, slicing, padding and resizing, without parameters.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <octet/runtime/ops/nn.h>
#include <octet/runtime/variable.h>

namespace octet {

/// The same elements, in the same order, with another shape. One dimension may
/// be Shape::kAnySize: the rest of the elements.
/// Throws: ShapeError if the numbers of elements differ.
Variable reshape(const Variable& x, const Shape& shape);

/// Axis i of the result is axis `axes[i]` of x.
/// Throws: ShapeError if `axes` is not a permutation.
Variable transpose(const Variable& x, const std::vector<int>& axes);

/// Joins inputs along `axis`; negative axes count from the end.
/// Throws: ValueError without inputs; ShapeError if shapes differ on another
/// axis, or the axis does not exist.
Variable concatenate(const std::vector<Variable>& inputs, int axis);

/// Entries first, first + step, ..., `count` of them, along `axis`; a negative
/// step runs backwards. Throws: ShapeError if out of range, or for step 0.
Variable slice(const Variable& x, int axis, int64_t first, int64_t count,
               int64_t step = 1);

/// Entries `indices` of `axis`, in that order, with repetitions; negative axes
/// count from the end.
/// Shapes: `axis` gets the size of the list. Throws: ShapeError if out of
/// range.
Variable gather(const Variable& x, int axis, std::vector<int64_t> indices);

/// Rows of a table by index: y[n,...] = table[indices[n,...]].
/// Shapes: indices [n,...], table [rows,d] -> [n,...,d]. The indices have no
/// gradient.
/// Throws: ShapeError; ValueError for an index that is not a whole number in
/// [0, rows).
Variable embedding(const Variable& indices, const Variable& table);

/// Pads each image with `value`.
/// Shapes: [n,h,w,c] -> [n,top+h+bottom,left+w+right,c].
/// Throws: ShapeError; ValueError for pads outside [0, kMaxWindow].
Variable pad2d(const Variable& x, const Pads& pads, float value = 0);

/// Pads each sequence with `value`.
/// Shapes: [n,l,c] -> [n,begin+l+end,c].
/// Throws: ShapeError; ValueError for ends outside [0, kMaxWindow].
Variable pad1d(const Variable& x, const Ends& ends, float value = 0);

/// Removes pixels around each image.
/// Throws: ShapeError, also for an empty result; ValueError for negative pads.
Variable crop2d(const Variable& x, const Pads& pads);

/// Interpolation between pixels.
enum class Interpolation {
  nearest,   ///< each pixel becomes a block of equal pixels
  bilinear,  ///< between the centers of the four nearest pixels; constant
             ///< beyond the outermost centers
  bicubic,   ///< cubic convolution over 16 pixels; border pixels repeat
};

/// Mapping from result pixels to input pixels, by ONNX's names.
enum class PixelCoordinates {
  half_pixel,     ///< aligns the image borders
  align_corners,  ///< aligns the centers of the corner pixels
  asymmetric,     ///< aligns the centers of the first pixels
};

/// Resampling method.
/// Fields in order: interpolation, coordinates, cubic_coefficient
struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;  ///< between pixels
  /// Position of result pixels in the input; `nearest` requires half_pixel.
  PixelCoordinates coordinates = PixelCoordinates::half_pixel;
  /// For Interpolation::bicubic: slope of the curve at the next pixel. Default:
  /// -0.75, as PyTorch.
  /// Source: Keys, IEEE Transactions on Acoustics, Speech, and Signal
  /// Processing 29, 1981, eq. 15.
  float cubic_coefficient = -0.75f;
};

/// Enlarges images by integer factors. Shapes: [n,h,w,c] -> [n,h*fh,w*fw,c].
/// Throws: ShapeError; ValueError for factors < 1.
/// Source: half-pixel centers, https://jax.readthedocs.io/en/latest/
/// _autosummary/jax.image.resize.html
Variable upsample2d(const Variable& x, Size2 factors,
                    Interpolation interpolation = Interpolation::nearest);

/// Resizes images without antialiasing: each output pixel depends on 1, 4 or 16
/// input pixels.
/// Shapes: [n,h,w,c] -> [n,size.h,size.w,c].
/// Throws: ShapeError; ValueError for sizes outside [1, kMaxWindow], or nearest
/// interpolation with coordinates other than half_pixel.
/// Source: as upsample2d(); ONNX Resize-19.
Variable resize2d(const Variable& x, Size2 size,
                  const ResizeOptions& options = {});

/// Repeats x along new leading axes and axes of size 1.
/// Throws: ShapeError if x does not broadcast to `shape`.
Variable broadcast_to(const Variable& x, const Shape& shape);

// Functions named as in keras.ops and NumPy. Axis 0 is an axis like any other;
// negative axes count from the end.

/// Moves an axis to position `destination`; the others keep their order.
/// Throws: ShapeError for an axis that does not exist.
Variable moveaxis(const Variable& x, int source, int destination);
/// Exchanges two axes. Throws: as moveaxis().
Variable swapaxes(const Variable& x, int axis1, int axis2);
/// Removes axes of size 1. Throws: ShapeError for an axis of another size.
Variable squeeze(const Variable& x, const std::vector<int>& axes);
/// Inserts an axis of size 1 as axis `axis` of the result. Throws: ShapeError.
Variable expand_dims(const Variable& x, int axis);
/// Merges all axes of each sample. Shapes: [n,...] -> [n,size].
/// Throws: ShapeError for rank 0.
Variable flatten(const Variable& x);
/// Moves blocks of channels to blocks of pixels, as tf.nn.depth_to_space:
/// [n,h,w,b*b*c] -> [n,b*h,b*w,c]; space_to_depth() is the inverse.
/// Throws: ShapeError for inputs other than images or sizes that a block does
/// not divide.
Variable depth_to_space(const Variable& x, int64_t block_size);
Variable space_to_depth(const Variable& x, int64_t block_size);

/// Joins tensors of one shape along a new axis.
/// Throws: ValueError without inputs; ShapeError.
Variable stack(const std::vector<Variable>& inputs, int axis);
/// Splits an axis into `sections` equal parts, or in front of each index; a
/// list in braces contains indices. Throws: ShapeError if `sections` does not
/// divide the size, or unless the indices ascend within the axis.
std::vector<Variable> split(const Variable& x, int64_t sections, int axis);
std::vector<Variable> split(const Variable& x,
                            const std::vector<int64_t>& indices, int axis);
std::vector<Variable> split(const Variable& x,
                            std::initializer_list<int64_t> indices, int axis);
/// gather() with the axis last: entries of an axis by index, in that order.
/// Throws: ShapeError if out of range.
Variable take(const Variable& x, std::vector<int64_t> indices, int axis);
/// Selects shape[i] entries of each axis i, beginning with start[i]; -1 selects
/// all remaining entries. Throws: ShapeError if out of range.
Variable slice(const Variable& x, const std::vector<int64_t>& start,
               const std::vector<int64_t>& shape);
/// Reverses an axis. Throws: ShapeError.
Variable flip(const Variable& x, int axis);
/// Repeats each entry of an axis `repeats` times, [a,b] -> [a,a,b,b].
/// Throws: ShapeError; ValueError for repeats < 1 or more than 2^20 entries.
Variable repeat(const Variable& x, int64_t repeats, int axis);
/// Repeats x as a whole along each axis, [a,b] -> [a,b,a,b].
/// Throws: as repeat(); ShapeError unless there is a number for each axis.
Variable tile(const Variable& x, const std::vector<int64_t>& repeats);
/// Rotates entries along an axis: [a,b,c] -> [c,a,b] for a shift of 1.
/// Throws: ShapeError.
Variable roll(const Variable& x, int64_t shift, int axis);

/// Pads each axis with `value` (mode "constant"), or with entries of the axis:
/// "edge" repeats the border, "reflect" mirrors without it, "symmetric" mirrors
/// with it, "wrap" continues at the other end. `pad_width` has an entry for
/// each axis. Throws: ShapeError for other numbers, or an axis that is too
/// small for its mode; ValueError for an unknown mode or negative widths.
/// Source: numpy.pad.
Variable pad(const Variable& x, const std::vector<Ends>& pad_width,
             const std::string& mode = "constant", float value = 0);
}  // namespace octet
