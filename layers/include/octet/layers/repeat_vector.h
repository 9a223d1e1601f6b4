#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: n, name
struct RepeatVectorOptions {
  int64_t n = 1;
  std::string name = "";
};

/// Repeats each vector n times as the steps of a sequence.
/// Shapes: [b,c] -> [b,n,c].
/// Throws: ValueError for n < 1; ShapeError for inputs other than [b,c].
class RepeatVector : public LayerHandle {
 public:
  explicit RepeatVector(const RepeatVectorOptions& options = {});
};

}  // namespace octet
