#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: alpha, name
struct ELUOptions {
  float alpha = 1;
  std::string name = "";
};

/// Computes x > 0 ? x : alpha * (exp(x) - 1).
/// Throws: ValueError for a non-finite alpha.
class ELU : public LayerHandle {
 public:
  explicit ELU(const ELUOptions& options = {});
};

}  // namespace octet
