// separate_biases(): biases of quantized layers in float16.
#include <string>
#include <utility>

#include "graph_passes.h"
#include "onnx/graph/qdq.h"

namespace octet::io {
namespace {

using onnx::TensorProto;

/// Whether QuantizeLinear follows; also after a function that ONNX Runtime
/// replaces by the lowest quantized value.
bool is_quantized(const OnnxGraph& graph, const OnnxNode& layer) {
  const OnnxNode* next = graph.only_consumer(layer.output(0));
  if (next != nullptr && is_op(*next, {"Relu", "Clip"})) {
    next = graph.only_consumer(next->output(0));
    const TensorProto* zero =
        next == nullptr ? nullptr : graph.tensor(next->input(2));
    if (zero == nullptr || zero->data_type() != TensorProto::UINT8) {
      return false;
    }
  }
  return next != nullptr && is_quantize(*next);
}

/// Whether a float16 bias is to become an Add.
bool has_separate_bias(const OnnxGraph& graph, const OnnxNode& layer) {
  const bool convolution = is_op(layer, {"Conv", "ConvTranspose"});
  if ((!convolution && !is_op(layer, "Gemm")) ||
      find_attribute(layer, "beta") != nullptr ||
      (convolution && find_attribute(layer, "kernel_shape") == nullptr)) {
    return false;
  }
  const OnnxNode* data = graph.producer(layer.input(0));
  const TensorProto* bias = graph.tensor(layer.input(2));
  return data != nullptr && is_dequantize(*data) && bias != nullptr &&
         bias->dims_size() == 1 && bias->data_type() == TensorProto::FLOAT16 &&
         is_quantized(graph, layer);
}

/// Makes a bias [c] a term [c,1,...] and returns its name.
std::string to_term(OnnxGraph& graph, const OnnxNode& layer, bool shared) {
  std::string name = layer.input(2);
  if (shared) name = graph.add_tensor(name + "/term", *graph.tensor(name));
  TensorProto& term = *graph.initializer(name);
  const auto axes = integers_of(layer, "kernel_shape").size();
  for (size_t i = 0; i < axes; ++i) term.add_dims(1);
  return name;
}

}  // namespace

void separate_biases(OnnxGraph& graph) {
  std::unordered_map<std::string, bool> shared;  // by bias
  for (OnnxNode& layer : graph.nodes()) {
    if (!has_separate_bias(graph, layer)) continue;
    const std::string bias = layer.input(2);
    const bool used_more = graph.uses(bias) > 1;
    const std::string term = to_term(
        graph, layer, shared.try_emplace(bias, used_more).first->second);
    const std::string output = layer.output(0);
    onnx::NodeProto add;
    add.set_op_type("Add");
    add.set_name(graph.unique_name(layer.proto.name() + "/bias"));
    add.add_input(graph.unique_name(output + "/product"));
    add.add_input(term);
    add.add_output(output);
    graph.change(layer, [&](onnx::NodeProto& proto) {
      proto.mutable_input()->RemoveLast();
      proto.set_output(0, add.input(0));
    });
    graph.insert_after(layer, std::move(add));
  }
}

}  // namespace octet::io
