#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: dims, name
struct PermuteOptions {
  std::vector<int64_t> dims{};  ///< axes of a sample, counted from 1
  std::string name = "";
};

/// Transposes the axes of each sample: axis i of the output is axis `dims[i]`
/// of the input.
/// Throws: ValueError if `dims` is not a permutation of 1, 2, ...; ShapeError
/// for samples of another rank.
class Permute : public LayerHandle {
 public:
  explicit Permute(const PermuteOptions& options = {});
};

}  // namespace octet
