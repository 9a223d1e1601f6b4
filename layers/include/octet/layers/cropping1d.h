#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/ops/window.h>

namespace octet {

/// Fields in order: cropping, name
struct Cropping1DOptions {
  Ends cropping = 1;  ///< elements removed at each end
  std::string name = "";
};

/// Removes elements at both ends of each sequence.
/// Shapes: [n,l,c] -> [n,l-begin-end,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// sequences or if the output would be empty.
class Cropping1D : public LayerHandle {
 public:
  explicit Cropping1D(const Cropping1DOptions& options = {});
};

}  // namespace octet
