// store_int8_weights(): weights stored as int8, as ONNX Runtime's and NVIDIA's
// quantizers write them.
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

#include "graph_passes.h"
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

}  // namespace

void store_int8_weights(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    onnx::TensorProto* weight = graph.initializer(node.input(0));
    if (!is_quantize(node) || weight == nullptr) continue;
    // ONNX saturates at the bounds of int8.
    const Tensor q = quantize(
        floats_of(*weight),
        QuantParams{.scale = floats_of(*graph.initializer(node.input(1))),
                    .axis = static_cast<int>(integer_of(node, "axis", -1)),
                    .low = -128,
                    .high = 127});
    std::string name = weight->name();
    if (graph.uses(name) > 1) {
      onnx::TensorProto copy;
      *copy.mutable_dims() = weight->dims();
      name = graph.add_tensor(node.output(0), std::move(copy));
      weight = graph.initializer(name);
    }
    weight->set_data_type(onnx::TensorProto::INT8);
    weight->set_raw_data(q.raw(), static_cast<size_t>(q.bytes()));
    graph.redirect(node.output(0), name);
    graph.remove(node);
  }
}

}  // namespace octet::io
