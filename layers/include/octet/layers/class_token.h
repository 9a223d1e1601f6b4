#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: token_initializer, name
struct ClassTokenOptions {
  Initializer token_initializer = zeros();
  std::string name = "";
};

/// Prepends a learned token to each sequence, the input of the classifier.
/// Parameter: class_token [1,1,d], initially zeros.
/// Shapes: [n,t,d] -> [n,t+1,d].
/// Throws: ShapeError for another rank.
/// Source: Dosovitskiy et al., arXiv 2010.11929, eq. 1.
class ClassToken : public LayerHandle {
 public:
  explicit ClassToken(const ClassTokenOptions& options = {});
};

}  // namespace octet
