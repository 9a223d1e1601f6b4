// The error for nodes that cannot be imported. Internal to io/onnx/import.
#pragma once

#include <octet/runtime/error.h>

namespace octet::io::importing {

/// Thrown by Importer; import_onnx() adds a hint if the graph can be run node
/// by node.
class RefusedNodes : public UnsupportedError {
 public:
  using UnsupportedError::UnsupportedError;
};

}  // namespace octet::io::importing
