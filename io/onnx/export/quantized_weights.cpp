// store_quantized_weights(): weights stored as int8 or float8, as ONNX
// Runtime's and NVIDIA's quantizers write them.
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "graph_passes.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/qdq.h"

namespace octet::io {
namespace {

/// Loads an initializer of GraphBuilder, which has raw data.
Tensor floats_of(const onnx::TensorProto& proto) {
  std::vector<int64_t> dims(proto.dims().begin(), proto.dims().end());
  Tensor tensor((Shape(std::span<const int64_t>(dims))));
  std::memcpy(tensor.raw(), proto.raw_data().data(), proto.raw_data().size());
  return tensor;
}

/// Replaces the values of a weight by the quantized values of its Q.
void quantize_weight(const OnnxGraph& graph, const OnnxNode& node,
                     onnx::TensorProto& weight) {
  QuantParams qparams{.scale = floats_of(*graph.tensor(node.input(1))),
                      .axis = static_cast<int>(integer_of(node, "axis", -1))};
  const Tensor values = floats_of(weight);
  const int32_t type = graph.tensor(node.input(2))->data_type();
  weight.set_data_type(type);
  if (type != kFloat8E4M3FN) {
    // ONNX saturates at the bounds of int8.
    const Tensor q = quantize(values, qparams);
    weight.set_raw_data(q.raw(), static_cast<size_t>(q.bytes()));
    return;
  }
  qparams.format = NumberFormat::fp8_e4m3;
  const ElementScales scales(values.shape(), qparams);
  std::string bytes;
  bytes.reserve(static_cast<size_t>(values.size()));
  for (const float v : values.f32()) {
    bytes.push_back(static_cast<char>(
        encode_float(v / scales[bytes.size()], qparams.format)));
  }
  weight.set_raw_data(std::move(bytes));
}

}  // namespace

void store_quantized_weights(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    onnx::TensorProto* weight = graph.initializer(node.input(0));
    if (!is_quantize(node) || weight == nullptr) continue;
    std::string name = weight->name();
    if (graph.uses(name) > 1) {
      onnx::TensorProto copy = *weight;
      name = graph.add_tensor(node.output(0), std::move(copy));
      weight = graph.initializer(name);
    }
    quantize_weight(graph, node, *weight);
    graph.redirect(node.output(0), name);
    graph.remove(node);
  }
}

}  // namespace octet::io
