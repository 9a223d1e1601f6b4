#pragma once

#include <cstdint>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: height, width, mode, coordinates, cubic_coefficient, name
struct InterpolateOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string mode = "bilinear";  ///< or "bicubic"
  /// Where pixels lie, see PixelCoordinates: "half_pixel", "align_corners" (the
  /// option of that name of PyTorch's Upsample), "asymmetric".
  std::string coordinates = "half_pixel";
  /// Of bicubic, see ResizeOptions.
  float cubic_coefficient = -0.75f;
  std::string name = "";
};

/// Images of another size, as PyTorch's interpolate: resize2d().
/// Keras' Resizing is its "bilinear" by "half_pixel".
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, another mode or other coordinates;
/// ShapeError when called on anything but an image.
class Interpolate : public LayerHandle {
 public:
  explicit Interpolate(const InterpolateOptions& options = {});
};

}  // namespace octet
