// store_quantized_weights(), store_blocks(): fold QuantizeLinear into weights
// of int8, float8 or, in blocks, int4, as ONNX Runtime's and NVIDIA's
// quantizers write them.
#include <algorithm>
#include <cstdint>
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

/// Packs pairs of int4 values, the first in the lower half of a byte.
std::string packed_int4(std::span<const int8_t> values) {
  std::string bytes((values.size() + 1) / 2, '\0');
  for (size_t i = 0; i < values.size(); ++i) {
    const int bits = (values[i] & 0xf) << (i % 2 == 0 ? 0 : 4);
    bytes[i / 2] = static_cast<char>(bytes[i / 2] | bits);
  }
  return bytes;
}

/// Stores a weight in blocks as int4 if all quantized values are in [-8,7],
/// otherwise as int8.
void quantize_blocks(const OnnxNode& node, const Tensor& scale,
                     onnx::TensorProto& weight) {
  const QuantParams qparams{
      .scale = scale,
      .axis = static_cast<int>(integer_of(node, "axis", -1)),
      .block = integer_of(node, "block_size", 0)};
  const Tensor values = floats_of(weight);
  const ElementScales scales(values.shape(), qparams);
  std::vector<int8_t> q;
  for (const float v : values.f32()) {
    q.push_back(static_cast<int8_t>(
        quantize(v, scales[q.size()], qparams.low, qparams.high)));
  }
  const bool int4 = std::ranges::all_of(
      q, [](int8_t value) { return value >= -8 && value <= 7; });
  weight.set_data_type(int4 ? kInt4 : onnx::TensorProto::INT8);
  weight.set_raw_data(int4 ? packed_int4(q) : std::string(q.begin(), q.end()));
}

/// Replaces the values of a weight by the quantized values of its Q.
void quantize_weight(const OnnxGraph& graph, const OnnxNode& node,
                     onnx::TensorProto& weight) {
  if (integer_of(node, "block_size", 0) > 0) {
    return quantize_blocks(node, floats_of(*graph.tensor(node.input(1))),
                           weight);
  }
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

void store(OnnxGraph& graph, bool all) {
  for (OnnxNode& node : graph.nodes()) {
    onnx::TensorProto* weight = graph.initializer(node.input(0));
    if (!is_quantize(node) || weight == nullptr) continue;
    const bool blocks = integer_of(node, "block_size", 0) > 0;
    if (!all && !blocks) continue;
    std::string name = weight->name();
    if (graph.uses(name) > 1) {
      onnx::TensorProto copy = *weight;
      name = graph.add_tensor(node.output(0), std::move(copy));
      weight = graph.initializer(name);
    }
    quantize_weight(graph, node, *weight);
    if (blocks) {
      // DequantizeLinear takes the type from its input, with which an int8 zero
      // point would conflict.
      for (OnnxNode* consumer : graph.consumers(node.output(0))) {
        graph.change(*consumer, [](onnx::NodeProto& proto) {
          proto.mutable_input()->RemoveLast();
        });
      }
    }
    const std::string zero_point = node.input(2);
    graph.redirect(node.output(0), name);
    graph.remove(node);
    if (graph.uses(zero_point) == 0) graph.remove_initializer(zero_point);
  }
}

}  // namespace

void store_quantized_weights(OnnxGraph& graph) { store(graph, true); }
void store_blocks(OnnxGraph& graph) { store(graph, false); }

}  // namespace octet::io
