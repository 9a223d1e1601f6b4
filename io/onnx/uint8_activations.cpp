#include "uint8_activations.h"

#include <string>
#include <unordered_set>

#include "qdq.h"

namespace octet::io {

void store_uint8_activations(onnx::GraphProto& graph) {
  std::unordered_set<std::string> constants;
  for (const auto& initializer : graph.initializer()) {
    constants.insert(initializer.name());
  }
  std::unordered_set<std::string> zero_points;
  for (const auto& node : graph.node()) {
    if (is_quantize(node) && !constants.contains(node.input(0))) {
      zero_points.insert(node.input(2));
    }
  }
  for (onnx::TensorProto& initializer : *graph.mutable_initializer()) {
    if (!zero_points.contains(initializer.name()) ||
        initializer.data_type() != onnx::TensorProto::INT8) {
      continue;
    }
    initializer.set_data_type(onnx::TensorProto::UINT8);
    initializer.set_raw_data(
        std::string(initializer.raw_data().size(), static_cast<char>(128)));
  }
}

}  // namespace octet::io
