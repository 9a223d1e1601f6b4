#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalMaxPooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";
};

/// Returns the maximum of each channel over the sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError for inputs other than sequences.
class GlobalMaxPooling1D : public LayerHandle {
 public:
  explicit GlobalMaxPooling1D(const GlobalMaxPooling1DOptions& options = {});
};

}  // namespace octet
