#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalAveragePooling1DOptions {
  bool keepdims = false;  ///< whether l stays, with size 1
  std::string name = "";
};

/// Mean of each channel over the whole sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError when called on anything but sequences.
class GlobalAveragePooling1D : public LayerHandle {
 public:
  explicit GlobalAveragePooling1D(
      const GlobalAveragePooling1DOptions& options = {});
};

}  // namespace octet
