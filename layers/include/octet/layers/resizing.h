#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: height, width, interpolation, crop_to_aspect_ratio,
/// pad_to_aspect_ratio, fill_value, name
struct ResizingOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string interpolation = "bilinear";  ///< or "nearest"
  /// Preserves the aspect ratio: crops the center of the image, or pads it with
  /// fill_value. At most one may be set.
  bool crop_to_aspect_ratio = false;
  bool pad_to_aspect_ratio = false;
  float fill_value = 0;
  std::string name = "";
};

/// Resizes images; see resize2d(). Shrinking is not antialiased: use a smaller
/// size when loading images (io::ImageFolder), which is.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1, an unknown interpolation, or both aspect
/// ratio options; ShapeError for inputs other than images.
class Resizing : public LayerHandle {
 public:
  explicit Resizing(const ResizingOptions& options = {});
};

}  // namespace octet
