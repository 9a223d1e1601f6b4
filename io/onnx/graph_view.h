// Lookup by value name in a checked graph: constants, shapes, producers,
// consumers. Refers to the graph, which must outlive it. Ignores subgraphs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "attributes.h"

namespace octet::io {

class GraphView {
 public:
  /// REQUIRES: shapes have been inferred.
  explicit GraphView(const onnx::GraphProto& graph);

  const onnx::GraphProto& graph() const { return graph_; }
  /// Returns the initializer or Constant of a value, or null.
  const onnx::TensorProto* constant(const std::string& value) const;
  /// Returns the producer of a value, or null.
  const onnx::NodeProto* producer(const std::string& value) const;
  /// Returns the consumers of a value in graph order.
  const std::vector<const onnx::NodeProto*>& consumers(
      const std::string& value) const;

  /// In the file's order, without inputs that have an initializer.
  std::vector<OnnxTensorInfo> inputs() const;
  std::vector<OnnxTensorInfo> outputs() const;

  /// Returns dimensions, -1 if dynamic; nothing if the rank is unknown.
  std::optional<std::vector<int64_t>> dims(const std::string& value) const;
  OnnxShape shape(const std::string& value) const;
  /// "float32"; empty if unknown.
  std::string type(const std::string& value) const;
  /// Returns an onnx::TensorProto::DataType; 0 if unknown.
  int32_t element_type(const std::string& value) const;

 private:
  OnnxTensorInfo info(const std::string& value) const;

  const onnx::GraphProto& graph_;
  std::unordered_map<std::string, const onnx::TensorProto*> constants_;
  std::unordered_map<std::string, const onnx::TypeProto*> types_;
  std::unordered_map<std::string, const onnx::NodeProto*> producers_;
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>>
      consumers_;
};

}  // namespace octet::io
