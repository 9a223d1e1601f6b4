#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalMaxPooling2DOptions {
  bool keepdims = false;  ///< whether h and w stay, with size 1
  std::string name = "";
};

/// Largest value of each channel over the whole image.
/// Shapes: [n,h,w,c] -> [n,c], or [n,1,1,c] with keepdims.
/// Throws: ShapeError when called on anything but an image.
class GlobalMaxPooling2D : public LayerHandle {
 public:
  explicit GlobalMaxPooling2D(const GlobalMaxPooling2DOptions& options = {});
};

}  // namespace octet
