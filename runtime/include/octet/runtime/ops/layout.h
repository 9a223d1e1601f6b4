// The same values in another shape or order, and images made larger or
// smaller without new parameters.
#pragma once

#include <vector>

#include <octet/runtime/ops/window.h>
#include <octet/runtime/variable.h>

namespace octet {

/// One dimension may be Shape::kAnySize. Throws: ShapeError.
Variable reshape(const Variable& x, const Shape& shape);

/// Axis i of the result is axis `axes[i]` of x.
/// Throws: ShapeError if `axes` is not a permutation.
Variable transpose(const Variable& x, const std::vector<int>& axes);

/// One after the other along `axis`; negative axes count from the end.
/// Throws: ValueError without inputs; ShapeError if shapes differ on another
/// axis, or the axis does not exist.
Variable concatenate(const std::vector<Variable>& inputs, int axis);

/// Entries first, first + step, ..., `count` of them, of `axis`; a negative
/// step goes backwards. Throws: ShapeError out of range, or for step 0.
Variable slice(const Variable& x, int axis, int64_t first, int64_t count,
               int64_t step = 1);

/// Entries `indices` of `axis`, in that order and as often as they are there; a
/// negative axis counts from the end.
/// Shapes: axis has the size of the list. Throws: ShapeError out of range.
Variable gather(const Variable& x, int axis, std::vector<int64_t> indices);

/// Cells of `value` around each image.
/// Shapes: [n,h,w,c] -> [n,top+h+bottom,left+w+right,c].
/// Throws: ShapeError; ValueError for pads outside [0, kMaxWindow].
Variable pad2d(const Variable& x, const Pads& pads, float value = 0);

/// Cells of `value` before and after each sequence.
/// Shapes: [n,l,c] -> [n,begin+l+end,c].
/// Throws: ShapeError; ValueError for ends outside [0, kMaxWindow].
Variable pad1d(const Variable& x, const Ends& ends, float value = 0);

/// Takes cells away around each image.
/// Throws: ShapeError, also if nothing is left; ValueError for negative pads.
Variable crop2d(const Variable& x, const Pads& pads);

/// How values between the pixels come about.
enum class Interpolation {
  nearest,   ///< each pixel becomes a block of equal ones
  bilinear,  ///< between the centres of the four nearest pixels; beyond the
             ///< outermost centres as at them
  bicubic,   ///< by cubic curves through the 16 nearest ones, those beyond the
             ///< image being as those at its border
};

/// Where pixels of a result lie among those of the image, by ONNX's names.
enum class PixelCoordinates {
  half_pixel,     ///< the borders of the images fall on one another
  align_corners,  ///< the centres of their outermost pixels do
  asymmetric,     ///< the centres of their first pixels do
};

/// Of what lies between pixels.
/// Fields in order: interpolation, coordinates, cubic_coefficient
struct ResizeOptions {
  Interpolation interpolation = Interpolation::bilinear;
  PixelCoordinates coordinates = PixelCoordinates::half_pixel;
  /// Of the curves of bicubic: the slope at the next pixel, -0.75 in PyTorch.
  /// Source: Keys, IEEE Transactions on Acoustics, Speech, and Signal
  /// Processing 29, 1981, eq. 15.
  float cubic_coefficient = -0.75f;
};

/// Images `factors` times as large. Shapes: [n,h,w,c] -> [n,h*fh,w*fw,c].
/// Throws: ShapeError; ValueError for factors < 1.
/// Source: half-pixel centres, https://jax.readthedocs.io/en/latest/
/// _autosummary/jax.image.resize.html
Variable upsample2d(const Variable& x, Size2 factors,
                    Interpolation interpolation = Interpolation::nearest);

/// Images of another size, without smoothing before they shrink: a pixel of the
/// result sees one pixel of x, or the 4 or 16 around its place.
/// Shapes: [n,h,w,c] -> [n,size.h,size.w,c].
/// Throws: ShapeError; ValueError for sizes outside [1, kMaxWindow], or nearest
/// pixels by other coordinates than half_pixel.
/// Source: as upsample2d(); ONNX Resize-19.
Variable resize2d(const Variable& x, Size2 size,
                  const ResizeOptions& options = {});

/// x repeated along new leading axes and axes of size 1.
/// Throws: ShapeError if x does not broadcast to `shape`.
Variable broadcast_to(const Variable& x, const Shape& shape);

}  // namespace octet
