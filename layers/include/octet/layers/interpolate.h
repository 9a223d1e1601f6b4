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
  /// Position of pixel centers (PixelCoordinates): "half_pixel",
  /// "align_corners" (as in PyTorch's Upsample) or "asymmetric".
  std::string coordinates = "half_pixel";
  /// For bicubic, see ResizeOptions.
  float cubic_coefficient = -0.75f;
  std::string name = "";
};

/// Resizes images, as PyTorch's interpolate; see resize2d(). Keras' Resizing
/// equals mode "bilinear" with coordinates "half_pixel".
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown mode or unknown coordinates;
/// ShapeError for inputs other than images.
class Interpolate : public LayerHandle {
 public:
  explicit Interpolate(const InterpolateOptions& options = {});
};

}  // namespace octet
