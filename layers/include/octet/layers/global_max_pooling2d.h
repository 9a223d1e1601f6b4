#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalMaxPooling2DOptions {
  bool keepdims = false;  ///< keeps axes h and w, with size 1
  std::string name = "";
};

/// Returns the maximum of each channel over the image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError for inputs other than images.
class GlobalMaxPooling2D : public LayerHandle {
 public:
  explicit GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options = {});
};

}  // namespace octet
