#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalMaxPooling1DOptions {
  bool keepdims = false;  ///< whether l stays, with size 1
  std::string name = "";
};

/// Largest value of each channel over the whole sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError when called on anything but sequences.
class GlobalMaxPooling1D : public LayerHandle {
 public:
  explicit GlobalMaxPooling1D(const GlobalMaxPooling1DOptions& options = {});
};

}  // namespace octet
