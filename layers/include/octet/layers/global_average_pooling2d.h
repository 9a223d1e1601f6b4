#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalAveragePooling2DOptions {
  bool keepdims = false;  ///< whether h and w stay, with size 1
  std::string name = "";
};

/// Mean of each channel over the whole image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError when called on anything but an image.
class GlobalAveragePooling2D : public LayerHandle {
 public:
  explicit GlobalAveragePooling2D(
      const GlobalAveragePooling2DOptions& options = {});
};

}  // namespace octet
