#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: height, width, name
struct CenterCropOptions {
  int64_t height = 0;
  int64_t width = 0;
  std::string name = "";
};

/// Crops the center of each image. Images smaller than the target are cropped
/// to its aspect ratio and enlarged, as by Resizing with crop_to_aspect_ratio.
/// Shapes: [n,h,w,c] -> [n,height,width,c].
/// Throws: ValueError for sizes < 1; ShapeError for inputs other than images.
class CenterCrop : public LayerHandle {
 public:
  explicit CenterCrop(const CenterCropOptions& options = {});
};

}  // namespace octet
