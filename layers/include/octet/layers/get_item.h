#pragma once

#include <vector>

#include <octet/layers/graph.h>
#include <octet/runtime/index.h>

namespace octet {

/// Fields in order: index, name
struct GetItemOptions {
  /// Of the batch first, which stays whole: x[:, 1:, 0] in Python is
  /// {Slice(), Slice(1), 0}.
  std::vector<Index> index = {};
  std::string name = "";
};

/// A part of each sample, as x[...] of a Keras tensor: SymbolicTensor::index()
/// makes it. Shapes: as Variable::index().
/// Throws: ValueError for an index of the batch but Slice() or "...", or two
/// ellipses; ShapeError for more indices than axes, an entry that is not there,
/// or if nothing of a sample would be left.
class GetItem : public LayerHandle {
 public:
  explicit GetItem(const GetItemOptions& options = {});
};

}  // namespace octet
