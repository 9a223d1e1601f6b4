#pragma once

#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: begin, end, mode, value, name
struct PadOptions {
  /// Entries added before and after each axis of a sample, [0, 2^20).
  std::vector<int64_t> begin = {};
  std::vector<int64_t> end = {};
  /// Added entries, as in numpy.pad: "constant", "edge", "reflect" (without the
  /// edge), "symmetric" (with it) or "wrap".
  std::string mode = "constant";
  float value = 0;  ///< for "constant"
  std::string name = "";
};

/// Pads any axes of samples. Zeros around images and sequences: ZeroPadding2D
/// and ZeroPadding1D, which combine with convolutions.
/// Throws: ValueError for an unknown mode, counts out of range, or a value that
/// is not finite; ShapeError unless there is a count for each axis, and for
/// "reflect" and "symmetric" if entries are missing.
class Pad : public LayerHandle {
 public:
  explicit Pad(const PadOptions& options);
};

}  // namespace octet
