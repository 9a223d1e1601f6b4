#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: height, width, name
struct CenterCropOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string name = "";
};

/// The middle of each image. Where that is smaller than asked for, the largest
/// middle of the same ratio, enlarged: Resizing with crop_to_aspect_ratio.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1; ShapeError when called on anything but an
/// image.
class CenterCrop : public LayerHandle {
 public:
  explicit CenterCrop(const CenterCropOptions& options = {});
};

}  // namespace octet
