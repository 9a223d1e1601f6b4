#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/shape.h>

namespace octet {

/// Fields in order: size, name
struct UpSampling1DOptions {
  int64_t size = 2;
  std::string name = "";
};

/// Repeats every step of a sequence `size` times.
/// Shapes: [n,l,c] -> [n,l*size,c].
/// Throws: ValueError for sizes < 1; ShapeError for inputs other than
/// sequences.
class UpSampling1D : public LayerHandle {
 public:
  explicit UpSampling1D(const UpSampling1DOptions& options = {});
};

}  // namespace octet
