#pragma once

#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/index.h>

namespace octet {

/// Fields in order: index, name
struct GetItemOptions {
  /// One index per axis, starting with the batch, which must stay whole: x[:,
  /// 1:, 0] in Python is {Slice(), Slice(1), 0}.
  std::vector<Index> index = {};
  std::string name = "";
};

/// Slices each sample, as x[...] of a Keras tensor; created by
/// SymbolicTensor::index().
/// Shapes: as Variable::index().
/// Throws: ValueError for a batch index other than Slice() or "...", or two
/// ellipses; ShapeError for more indices than axes, an index out of range, or
/// an empty result.
class GetItem : public LayerHandle {
 public:
  explicit GetItem(const GetItemOptions& options = {});
};

}  // namespace octet
