#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: index, name
struct SelectTokenOptions {
  int64_t index = 0;  ///< negative counts from the end
  std::string name = "";
};

/// Selects a token of each sample, such as the class token.
/// Shapes: [n,t,d] -> [n,d].
/// Throws: ShapeError for another rank or an index out of range.
class SelectToken : public LayerHandle {
 public:
  explicit SelectToken(const SelectTokenOptions& options = {});
};

}  // namespace octet
