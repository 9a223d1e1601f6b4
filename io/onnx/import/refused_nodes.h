// The error for nodes that cannot be imported. Internal to io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include <octet/runtime/error.h>

namespace octet::io::importing {

/// A node that cannot be imported.
struct RefusedNode {
  std::string node;  ///< "node 'conv1' (Conv)"
  std::string reason;
};

/// One line for each node: "node 'conv1' (Conv): <reason>".
inline std::string lines_of(const std::vector<RefusedNode>& nodes) {
  std::string lines;
  for (const RefusedNode& each : nodes) {
    lines += "\n  " + each.node + ": " + each.reason;
  }
  return lines;
}

/// Thrown by Importer; import_onnx() adds a hint if the graph can be run node
/// by node.
class RefusedNodes : public UnsupportedError {
 public:
  using UnsupportedError::UnsupportedError;
};

}  // namespace octet::io::importing
