#pragma once

#include <octet/layers/graph.h>
#include <octet/runtime/ops/window.h>

namespace octet {

/// Fields in order: padding, name
struct ZeroPadding1DOptions {
  Ends padding = 1;
  std::string name = "";
};

/// Pads each sequence with zeros at both ends.
/// Shapes: [n,l,c] -> [n,begin+l+end,c].
/// Throws: ValueError for negative sizes; ShapeError for inputs other than
/// sequences.
class ZeroPadding1D : public LayerHandle {
 public:
  explicit ZeroPadding1D(const ZeroPadding1DOptions& options = {});
};

}  // namespace octet
