#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: height, width, interpolation, crop_to_aspect_ratio,
/// pad_to_aspect_ratio, fill_value, name
struct ResizingOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string interpolation = "bilinear";  ///< or "nearest"
  /// Keeps the ratio of height and width: cuts off what is too much in the
  /// middle of the image, or adds cells of fill_value around it.
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  float fill_value = 0;
  std::string name = "";
};

/// Images of another size: resize2d(). Without smoothing where they shrink:
/// reading images in a smaller size, as io::ImageFolder does, has that.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, another interpolation, or both ways to
/// keep the ratio; ShapeError when called on anything but an image.
class Resizing : public LayerHandle {
 public:
  explicit Resizing(const ResizingOptions& options = {});
};

}  // namespace octet
