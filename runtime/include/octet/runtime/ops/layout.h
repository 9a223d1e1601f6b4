// Reshaping, reordering, slicing, padding and resizing, without parameters.
#pragma once

#include <vector>

#include <octet/runtime/ops/window.h>
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

}  // namespace octet
