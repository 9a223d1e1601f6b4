#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/ops/window.h>

namespace octet {

/// Fields in order: padding, name
struct ZeroPadding2DOptions {
  Pads padding{1, 1, 1, 1};
  std::string name = "";
};

/// Pads each image with zeros at the borders.
/// Shapes: [n,h,w,c] -> [n,top+h+bottom,left+w+right,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// images.
class ZeroPadding2D : public LayerHandle {
 public:
  explicit ZeroPadding2D(const ZeroPadding2DOptions& options = {});
};

}  // namespace octet
