#include "float16_biases.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "graph_view.h"
#include "qdq.h"
#include "unique_names.h"

namespace octet::io {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

/// Returns the only consumer of a node's output, or null.
const NodeProto* only_consumer(const GraphView& view, const NodeProto& node) {
  const auto& consumers = view.consumers(node.output(0));
  return consumers.size() == 1 ? consumers[0] : nullptr;
}

/// Whether QuantizeLinear follows; also after a function that ONNX Runtime
/// replaces by the lowest quantized value.
bool is_quantized(const GraphView& view, const NodeProto& layer) {
  const NodeProto* next = only_consumer(view, layer);
  if (next != nullptr &&
      (next->op_type() == "Relu" || next->op_type() == "Clip")) {
    next = only_consumer(view, *next);
    const TensorProto* zero = next == nullptr || next->input_size() < 3
                                  ? nullptr
                                  : view.constant(next->input(2));
    if (zero == nullptr || zero->data_type() != TensorProto::UINT8) {
      return false;
    }
  }
  return next != nullptr && is_quantize(*next);
}

/// Returns the float16 bias to separate, or null.
const TensorProto* bias_of(const GraphView& view, const NodeProto& layer) {
  const std::string& op = layer.op_type();
  const bool convolution = op == "Conv" || op == "ConvTranspose";
  if ((!convolution && op != "Gemm") || layer.input_size() < 3 ||
      find_attribute(layer, "beta") != nullptr ||
      (convolution && find_attribute(layer, "kernel_shape") == nullptr)) {
    return nullptr;
  }
  const NodeProto* data = view.producer(layer.input(0));
  const TensorProto* bias = view.constant(layer.input(2));
  const bool separate =
      data != nullptr && is_dequantize(*data) && bias != nullptr &&
      !bias->name().empty() && bias->dims_size() == 1 &&
      bias->data_type() == TensorProto::FLOAT16 && is_quantized(view, layer);
  return separate ? bias : nullptr;
}

/// A bias to separate from a layer.
struct Separate {
  std::string bias;
  int axes = 0;         // of the layer's output after that of the channels
  bool shared = false;  // by several layers
};

std::map<int, Separate> find_biases(const onnx::GraphProto& graph) {
  const GraphView view(graph);
  std::map<int, Separate> found;
  for (int i = 0; i < graph.node_size(); ++i) {
    const NodeProto& layer = graph.node(i);
    const TensorProto* bias = bias_of(view, layer);
    if (bias == nullptr) continue;
    const auto* kernel = find_attribute(layer, "kernel_shape");
    found[i] = {bias->name(), kernel == nullptr ? 0 : kernel->ints_size(),
                view.consumers(bias->name()).size() > 1};
  }
  return found;
}

/// Makes a bias [c] a term [c,1,...] and returns its name.
std::string to_term(onnx::GraphProto& graph, const Separate& of,
                    UniqueNames& names) {
  auto& tensors = *graph.mutable_initializer();
  auto term = std::ranges::find(tensors, of.bias, &TensorProto::name);
  if (of.shared) {
    TensorProto copy = *term;
    copy.set_name(names.add(of.bias + "/term"));
    *graph.add_initializer() = std::move(copy);
    term = std::prev(tensors.end());
  }
  for (int i = 0; i < of.axes; ++i) term->add_dims(1);
  return term->name();
}

}  // namespace

void separate_biases(onnx::GraphProto& graph) {
  const std::map<int, Separate> biases = find_biases(graph);
  if (biases.empty()) return;
  UniqueNames names;
  for (const auto& tensor : graph.initializer()) names.insert(tensor.name());
  for (const NodeProto& node : graph.node()) {
    names.insert(node.name());
    names.insert(node.output().begin(), node.output().end());
  }
  google::protobuf::RepeatedPtrField<NodeProto> before;
  before.Swap(graph.mutable_node());
  for (int i = 0; i < before.size(); ++i) {
    NodeProto& layer = *graph.add_node();
    layer.Swap(&before[i]);
    const auto bias = biases.find(i);
    if (bias == biases.end()) continue;
    NodeProto& add = *graph.add_node();
    add.set_op_type("Add");
    add.set_name(names.add(layer.name() + "/bias"));
    add.add_output(layer.output(0));
    layer.mutable_input()->RemoveLast();
    layer.set_output(0, names.add(layer.output(0) + "/product"));
    add.add_input(layer.output(0));
    add.add_input(to_term(graph, bias->second, names));
  }
}

}  // namespace octet::io
