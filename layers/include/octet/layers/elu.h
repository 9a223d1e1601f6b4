#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: alpha, name
struct ELUOptions {
  float alpha = 1;
  std::string name = "";
};

/// x > 0 ? x : alpha * (exp(x) - 1). Throws: ValueError for an alpha that is
/// not finite.
class ELU : public LayerHandle {
 public:
  explicit ELU(const ELUOptions& options = {});
};

}  // namespace octet
