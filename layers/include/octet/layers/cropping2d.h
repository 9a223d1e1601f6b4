#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/ops/window.h>

namespace octet {

/// Fields in order: cropping, name
struct Cropping2DOptions {
  Pads cropping{};
  std::string name = "";
};

/// Removes pixels at the borders of each image.
/// Shapes: [n,h,w,c] -> [n,h-top-bottom,w-left-right,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// images or if the output would be empty.
class Cropping2D : public LayerHandle {
 public:
  explicit Cropping2D(const Cropping2DOptions& options = {});
};

}  // namespace octet
