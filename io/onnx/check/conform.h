// Converts deviations from the standard that are common in ONNX files to the
// form that onnx::checker accepts.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "check.h"

namespace octet::io {

/// Rewrites dynamic dimensions written as -1, explicit names of the standard
/// domain, graphs without a name, values of type "undefined", Constants with
/// numbers instead of a tensor, empty lists of axes, nodes that precede their
/// producers, and constants of type int4 and uint4, which become int8 and
/// uint8.
/// Returns the constants of type int4 and uint4, as stored.
PackedConstants conform(onnx::ModelProto& model);

/// Restores initializers of the graph that conform() unpacked and that did not
/// change since. Tensors of Constant nodes and of subgraphs stay unpacked.
void restore_packed(onnx::GraphProto& graph, const PackedConstants& packed);

/// Adds a shape to inputs and outputs without a shape, as onnx::checker
/// requires; the destructor restores them.
class TemporaryShapes {
 public:
  explicit TemporaryShapes(onnx::GraphProto& graph);
  ~TemporaryShapes();
  TemporaryShapes(const TemporaryShapes&) = delete;
  TemporaryShapes& operator=(const TemporaryShapes&) = delete;

 private:
  struct Change {
    onnx::ValueInfoProto* value;
    onnx::TypeProto before;
    bool had_type;
  };
  std::vector<Change> changes_;
};

/// Presents float8 tensors as int8 to onnx::checker 1.12, which does not
/// support the type; the destructor restores them.
class HiddenFloat8 {
 public:
  explicit HiddenFloat8(onnx::GraphProto& graph) { hide(graph); }
  ~HiddenFloat8();
  HiddenFloat8(const HiddenFloat8&) = delete;
  HiddenFloat8& operator=(const HiddenFloat8&) = delete;

 private:
  void hide(onnx::GraphProto& graph);
  void hide(onnx::TensorProto& tensor);

  std::vector<onnx::TensorProto*> hidden_;
};

}  // namespace octet::io
