#include "concat_pairs.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "proto_limits.h"
#include "qdq.h"

namespace octet::io {
namespace {

using Node = onnx::NodeProto;

bool is_one_of(const Node& node,
               std::initializer_list<std::string_view> names) {
  if (!is_standard_domain(node.domain())) return false;
  for (const std::string_view name : names) {
    if (node.op_type() == name) return true;
  }
  return false;
}

/// Operators that OpenVINO applies directly to quantized values.
bool keeps_quantized(const Node& node) {
  return is_one_of(node, {"Identity", "Relu", "MaxPool", "Pad", "Slice",
                          "Split", "Resize", "Reshape", "Transpose", "Flatten",
                          "Squeeze", "Unsqueeze", "DepthToSpace"});
}

bool is_concat(const Node& node) {
  return is_one_of(node, {"Concat"}) && node.input_size() > 1;
}

/// The QuantizeLinear of a dequantizer, or null for constants.
const Node* source_of(const GraphView& view, const Node& dequantize) {
  const Node* producer = view.producer(dequantize.input(0));
  while (producer != nullptr && keeps_quantized(*producer)) {
    producer = view.producer(producer->input(0));
  }
  return producer != nullptr && is_quantize(*producer) ? producer : nullptr;
}

bool stores_int8(const GraphView& view, const Node& quantize) {
  if (quantize.input_size() > 2 && !quantize.input(2).empty()) {
    if (const auto* zero = view.constant(quantize.input(2))) {
      return zero->data_type() == onnx::TensorProto::INT8;
    }
  }
  return view.element_type(quantize.output(0)) == onnx::TensorProto::INT8;
}

/// Whether OpenVINO moves the quantizer into the branches of a Concat: at most
/// a ReLU is between them.
bool quantizes_concat(const GraphView& view, const Node& quantize) {
  const Node* producer = view.producer(quantize.input(0));
  bool relu = false;
  while (producer != nullptr && (is_one_of(*producer, {"Identity"}) ||
                                 (!relu && is_one_of(*producer, {"Relu"})))) {
    relu = relu || producer->op_type() == "Relu";
    producer = view.producer(producer->input(0));
  }
  return producer != nullptr && is_concat(*producer);
}

bool is_int8_convolution(const GraphView& view, const Node& node) {
  if (!is_one_of(node, {"Conv"}) || node.input_size() < 2) return false;
  const auto* group = find_attribute(node, "group");
  if (group != nullptr && group->i() != 1) return false;
  const Node* weights = view.producer(node.input(1));
  return weights != nullptr && is_dequantize(*weights);
}

class ConcatSearch {
 public:
  explicit ConcatSearch(const GraphView& view) : view_(view) {}

  void visit(const Node& convolution) {
    convolution_ = &convolution;
    add(convolution.input(0), false);
    while (!open_.empty()) {
      const auto [value, behind] = open_.back();
      open_.pop_back();
      const Node* producer = view_.producer(value);
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
    const Node* quantize = source_of(view_, dequantize);
    if (quantize == nullptr || !stores_int8(view_, *quantize)) return;
    if (!behind && !quantizes_concat(view_, *quantize)) return;
    if (taken_.insert(&dequantize).second) {
      found.push_back({quantize, &dequantize, convolution_});
    }
  }

  const GraphView& view_;
  const Node* convolution_ = nullptr;
  std::vector<Open> open_;
  std::unordered_set<std::string> seen_[2];
  std::unordered_set<const Node*> taken_;
};

}  // namespace

std::vector<ConcatPair> int8_pairs_at_concat(const GraphView& view) {
  ConcatSearch search(view);
  for (const Node& node : view.graph().node()) {
    if (is_int8_convolution(view, node)) search.visit(node);
  }
  return std::move(search.found);
}

}  // namespace octet::io
