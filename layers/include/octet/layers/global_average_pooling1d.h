#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: keepdims, name
struct GlobalAveragePooling1DOptions {
  bool keepdims = false;  ///< keeps axis l, with size 1
  std::string name = "";
};

/// Averages each channel over the sequence.
/// Shapes: [n,l,c] -> [n,c], or [n,1,c] with keepdims.
/// Throws: ShapeError for inputs other than sequences.
class GlobalAveragePooling1D : public LayerHandle {
 public:
  explicit GlobalAveragePooling1D(
      const GlobalAveragePooling1DOptions& options = {});
};

}  // namespace octet
