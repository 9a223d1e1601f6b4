// int8_pairs_at_concat(): Q/DQ pairs between a Concat and a convolution.
#include <string>
#include <unordered_set>
#include <utility>

#include "graph_passes.h"
#include "onnx/graph/qdq.h"

namespace octet::io {
namespace {

using Node = OnnxNode;

/// Operators that OpenVINO applies directly to quantized values.
bool keeps_quantized(const Node& node) {
  return is_op(node, {"Identity", "Relu", "MaxPool", "Pad", "Slice", "Split",
                      "Resize", "Reshape", "Transpose", "Flatten", "Squeeze",
                      "Unsqueeze", "DepthToSpace"});
}

bool is_concat(const Node& node) {
  return is_op(node, "Concat") && node.input_size() > 1;
}

/// The QuantizeLinear of a dequantizer, or null for constants.
const Node* source_of(const OnnxGraph& graph, const Node& dequantize) {
  const Node* producer = graph.producer(dequantize.input(0));
  while (producer != nullptr && keeps_quantized(*producer)) {
    producer = graph.producer(producer->input(0));
  }
  return producer != nullptr && is_quantize(*producer) ? producer : nullptr;
}

bool stores_int8(const OnnxGraph& graph, const Node& quantize) {
  if (const auto* zero = graph.tensor(quantize.input(2))) {
    return zero->data_type() == onnx::TensorProto::INT8;
  }
  return graph.element_type(quantize.output(0)) == onnx::TensorProto::INT8;
}

/// Whether OpenVINO moves the quantizer into the branches of a Concat: at most
/// a ReLU is between them.
bool quantizes_concat(const OnnxGraph& graph, const Node& quantize) {
  const Node* producer = graph.producer(quantize.input(0));
  bool relu = false;
  while (producer != nullptr && (is_op(*producer, "Identity") ||
                                 (!relu && is_op(*producer, "Relu")))) {
    relu = relu || producer->op_type() == "Relu";
    producer = graph.producer(producer->input(0));
  }
  return producer != nullptr && is_concat(*producer);
}

bool is_int8_convolution(const OnnxGraph& graph, const Node& node) {
  if (!is_op(node, "Conv") || integer_of(node, "group", 1) != 1) return false;
  const Node* weights = graph.producer(node.input(1));
  return weights != nullptr && is_dequantize(*weights);
}

class ConcatSearch {
 public:
  explicit ConcatSearch(const OnnxGraph& graph) : graph_(graph) {}

  void visit(const Node& convolution) {
    convolution_ = &convolution;
    add(convolution.input(0), false);
    while (!open_.empty()) {
      const auto [value, behind] = open_.back();
      open_.pop_back();
      const Node* producer = graph_.producer(value);
      if (producer == nullptr) continue;
      if (is_dequantize(*producer)) {
        take(*producer, behind);
      } else if (is_concat(*producer)) {
        for (const auto& input : producer->input()) add(input, true);
      } else if (keeps_quantized(*producer)) {
        add(producer->input(0), behind);
      }
    }
  }

  std::vector<ConcatPair> found;

 private:
  struct Open {
    std::string value;
    bool behind;  // a Concat is between the value and the convolution
  };

  void add(const std::string& value, bool behind) {
    if (seen_[behind ? 1 : 0].insert(value).second) {
      open_.push_back({value, behind});
    }
  }

  void take(const Node& dequantize, bool behind) {
    const Node* quantize = source_of(graph_, dequantize);
    if (quantize == nullptr || !stores_int8(graph_, *quantize)) return;
    if (!behind && !quantizes_concat(graph_, *quantize)) return;
    if (taken_.insert(&dequantize).second) {
      found.push_back({quantize, &dequantize, convolution_});
    }
  }

  const OnnxGraph& graph_;
  const Node* convolution_ = nullptr;
  std::vector<Open> open_;
  std::unordered_set<std::string> seen_[2];
  std::unordered_set<const Node*> taken_;
};

}  // namespace

std::vector<ConcatPair> int8_pairs_at_concat(const OnnxGraph& graph) {
  ConcatSearch search(graph);
  for (const Node& node : graph.nodes()) {
    if (is_int8_convolution(graph, node)) search.visit(node);
  }
  return std::move(search.found);
}

}  // namespace octet::io
