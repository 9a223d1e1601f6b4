#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/ops/window.h>

namespace octet {

/// Fields in order: cropping, name
struct Cropping2DOptions {
  Pads cropping{};
  std::string name = "";
};

/// Takes cells away around each image.
/// Shapes: [n,h,w,c] -> [n,h-top-bottom,w-left-right,c].
/// Throws: ValueError for negative sizes; ShapeError when called on anything
/// but an image, or if nothing would be left.
class Cropping2D : public LayerHandle {
 public:
  explicit Cropping2D(const Cropping2DOptions& options = {});
};

}  // namespace octet
