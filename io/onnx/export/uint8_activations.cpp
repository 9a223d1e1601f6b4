// Activations quantized to uint8.
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "graph_passes.h"
#include "onnx/graph/qdq.h"

namespace octet::io {
namespace {

/// Stores an int8 zero point of 0 as the uint8 zero point of the same values.
void store_uint8(onnx::TensorProto& zero_point) {
  zero_point.set_data_type(onnx::TensorProto::UINT8);
  zero_point.set_raw_data(
      std::string(zero_point.raw_data().size(), static_cast<char>(128)));
}

}  // namespace

void store_uint8_activations(OnnxGraph& graph) {
  for (const OnnxNode& node : graph.nodes()) {
    if (!is_quantize(node) || graph.tensor(node.input(0)) != nullptr) continue;
    onnx::TensorProto* zero_point = graph.initializer(node.input(2));
    if (zero_point != nullptr &&
        zero_point->data_type() == onnx::TensorProto::INT8) {
      store_uint8(*zero_point);
    }
  }
}

void store_uint8_at_concat(OnnxGraph& graph) {
  std::unordered_set<std::string> quantized;
  for (const ConcatPair& pair : int8_pairs_at_concat(graph)) {
    quantized.insert(pair.quantize->output(0));
  }
  std::unordered_map<std::string, std::string> copies;  // by zero point
  for (OnnxNode& node : graph.nodes()) {
    if (!(is_quantize(node) && quantized.contains(node.output(0))) &&
        !(is_dequantize(node) && quantized.contains(node.input(0)))) {
      continue;
    }
    std::string& copy = copies[node.input(2)];
    if (copy.empty()) {
      onnx::TensorProto tensor = *graph.initializer(node.input(2));
      store_uint8(tensor);
      copy = graph.add_tensor(node.input(2) + "/uint8", std::move(tensor));
    }
    graph.set_input(node, 2, copy);
  }
  for (const auto& [zero_point, copy] : copies) {
    if (graph.uses(zero_point) == 0) graph.remove_initializer(zero_point);
  }
}

}  // namespace octet::io
