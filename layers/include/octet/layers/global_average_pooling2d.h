#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalAveragePooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";
};

/// Averages each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalAveragePooling2D : public LayerHandle {
 public:
  explicit GlobalAveragePooling2D(
      const GlobalAveragePooling2DOptions& options = {});
};

}  // namespace octet
