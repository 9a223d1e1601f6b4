// What writers of ONNX files do that onnx::checker would not take, put in the
// form that it takes.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// An open dimension written as -1, the domain of the standard operators
/// written out, a graph without a name, values whose type is "undefined",
/// Constants of numbers without a tensor, nodes before those that they read.
void normalize(onnx::ModelProto& model);

/// Gives inputs and outputs of a graph that state no shape one for as long as
/// it lives: onnx::checker asks for it, nothing else does.
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
