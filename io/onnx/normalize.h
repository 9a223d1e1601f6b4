// Converts deviations from the standard that are common in ONNX files to the
// form that onnx::checker accepts.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Normalizes dynamic dimensions written as -1, the explicit domain of the
/// standard operators, graphs without a name, values of type "undefined",
/// Constants of numbers without a tensor, and nodes before their producers.
void normalize(onnx::ModelProto& model);

/// Adds a shape to inputs and outputs without one for its lifetime, because
/// onnx::checker requires it.
class StatedShapes {
 public:
  explicit StatedShapes(onnx::GraphProto& graph);
  ~StatedShapes();
  StatedShapes(const StatedShapes&) = delete;
  StatedShapes& operator=(const StatedShapes&) = delete;

 private:
  struct Change {
    onnx::ValueInfoProto* value;
    onnx::TypeProto before;
    bool had_type;
  };
  std::vector<Change> changes_;
};

}  // namespace octet::io
