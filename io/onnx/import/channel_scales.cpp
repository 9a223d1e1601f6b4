#include "channel_scales.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "onnx/graph/attributes.h"
#include "onnx/normalize/spelling.h"

namespace octet::io::importing {
namespace {

/// Returns a float32 constant, or null.
const Tensor* floats_in(const OnnxGraph& graph, const std::string& value) {
  const OnnxConstant* constant = graph.constant(value);
  const bool floats =
      constant != nullptr && constant->value.dtype() == DType::f32;
  return floats ? &constant->value : nullptr;
}

/// Returns the Q of an activation's pair, or null.
OnnxNode* quantizer_of(OnnxGraph& graph, const OnnxNode& dequantize) {
  OnnxNode* quantize = graph.producer(dequantize.proto.input(0));
  const bool pair = quantize != nullptr && is_op(*quantize, "QuantizeLinear") &&
                    graph.constant(quantize->proto.input(0)) == nullptr &&
                    graph.uses(quantize->proto.output(0)) == 1 &&
                    std::equal(quantize->proto.input().begin() + 1,
                               quantize->proto.input().end(),
                               dequantize.proto.input().begin() + 1,
                               dequantize.proto.input().end());
  return pair ? quantize : nullptr;
}

/// Returns the zero point that all channels of a node have, as a scalar;
/// nothing if they differ, an empty tensor if there is none.
std::optional<Tensor> common_zero_point(const OnnxGraph& graph,
                                        const onnx::NodeProto& node) {
  if (node.input_size() < 3 || node.input(2).empty()) return Tensor();
  const OnnxConstant* zero = graph.constant(node.input(2));
  if (zero == nullptr || zero->value.size() == 0) return {};
  const Tensor& all = zero->value;
  const auto size = static_cast<size_t>(all.bytes() / all.size());
  const auto* bytes = static_cast<const char*>(all.raw());
  for (int64_t i = 1; i < all.size(); ++i) {
    if (std::memcmp(bytes, bytes + static_cast<size_t>(i) * size, size) != 0) {
      return {};
    }
  }
  return all.reshaped({all.size()}).slice(0, 1).reshaped({});
}

// A float constant, or a DQ with constant scales along axis 0, of a constant or
// of its Q.
bool has_scalable_weight(OnnxGraph& graph, const onnx::NodeProto& conv) {
  const std::string& weight = conv.input(1);
  if (graph.constant(weight) != nullptr) {
    return floats_in(graph, weight) != nullptr;
  }
  const OnnxNode* dequantize = graph.producer(weight);
  if (dequantize == nullptr || !is_op(*dequantize, "DequantizeLinear") ||
      graph.uses(weight) != 1) {
    return false;
  }
  const onnx::NodeProto& proto = dequantize->proto;
  const Tensor* scales = floats_in(graph, proto.input(1));
  if (scales == nullptr || scales->shape().rank() != 1 ||
      integer_of(proto, "axis", 1) != 0) {
    return false;
  }
  if (graph.constant(proto.input(0)) != nullptr) return true;
  const OnnxNode* quantize = graph.producer(proto.input(0));
  return quantize != nullptr && is_op(*quantize, "QuantizeLinear") &&
         graph.uses(proto.input(0)) == 1 &&
         quantize->proto.input(1) == proto.input(1) &&
         floats_in(graph, quantize->proto.input(0)) != nullptr;
}

bool has_channel_scales(OnnxGraph& graph, const OnnxNode& dequantize) {
  const OnnxNode* quantize = quantizer_of(graph, dequantize);
  const Tensor* scales = floats_in(graph, dequantize.proto.input(1));
  const std::string& value = dequantize.proto.output(0);
  if (quantize == nullptr || scales == nullptr || scales->shape().rank() != 1 ||
      scales->size() < 2 || integer_of(quantize->proto, "axis", 1) != 1 ||
      integer_of(dequantize.proto, "axis", 1) != 1 || graph.is_output(value) ||
      std::ranges::any_of(scales->f32(), [](float s) { return !(s > 0); }) ||
      !common_zero_point(graph, dequantize.proto)) {
    return false;
  }
  const auto consumers = graph.consumers(value);
  return !consumers.empty() &&
         std::ranges::all_of(consumers, [&](const OnnxNode* consumer) {
           const onnx::NodeProto& conv = consumer->proto;
           return is_op(*consumer, "Conv") && conv.input(0) == value &&
                  conv.input(1) != value &&
                  integer_of(conv, "group", 1) == scales->size() &&
                  has_scalable_weight(graph, conv);
         });
}

void set_input(OnnxGraph& graph, OnnxNode& node, int input,
               const std::string& value) {
  onnx::NodeProto by = node.proto;
  by.set_input(input, value);
  graph.replace(node, by, {});
}

/// Returns a constant [m,...] whose rows are multiplied by the scales [c] of
/// their input channels.
std::string scaled(OnnxGraph& graph, const std::string& name,
                   const Tensor& scales) {
  Tensor products = floats_in(graph, name)->clone();
  const int64_t rows = products.shape()[0];
  const int64_t row = products.size() / std::max<int64_t>(rows, 1);
  for (int64_t i = 0; i < products.size(); ++i) {
    products.f32()[static_cast<size_t>(i)] *=
        scales.f32()[static_cast<size_t>(i / row * scales.size() / rows)];
  }
  return graph.add_constant(name + "/scaled", products);
}

/// Multiplies the weight by the scales. Returns its rank.
int scale_weight(OnnxGraph& graph, OnnxNode& conv, const Tensor& scales) {
  const std::string weight = conv.proto.input(1);
  if (const Tensor* floats = floats_in(graph, weight)) {
    const int rank = floats->shape().rank();
    set_input(graph, conv, 1, scaled(graph, weight, scales));
    return rank;
  }
  OnnxNode& dequantize = *graph.producer(weight);
  const std::string values = dequantize.proto.input(0);
  const std::string products = scaled(graph, dequantize.proto.input(1), scales);
  set_input(graph, dequantize, 1, products);
  if (const OnnxConstant* stored = graph.constant(values)) {
    return stored->value.shape().rank();
  }
  OnnxNode& quantize = *graph.producer(values);
  const std::string floats = quantize.proto.input(0);
  set_input(graph, quantize, 0, scaled(graph, floats, scales));
  set_input(graph, quantize, 1, products);
  return floats_in(graph, quantize.proto.input(0))->shape().rank();
}

void share_scales_of(OnnxGraph& graph, OnnxNode& dequantize) {
  OnnxNode& quantize = *quantizer_of(graph, dequantize);
  const Tensor scales = *floats_in(graph, dequantize.proto.input(1));
  const Tensor zero = *common_zero_point(graph, dequantize.proto);
  const std::string name = dequantize.proto.input(1);
  int rank = 0;
  for (const OnnxNode* conv : graph.consumers(dequantize.proto.output(0))) {
    rank = scale_weight(graph, *graph.producer(conv->proto.output(0)), scales);
  }
  Integers dims(static_cast<size_t>(std::max(rank - 1, 1)), 1);
  dims[0] = scales.size();
  onnx::NodeProto division =
      node_of("Div",
              {quantize.proto.input(0),
               graph.add_constant(name + "/channels",
                                  scales.reshaped(Shape(std::span(dims))))},
              graph.unique_name(quantize.proto.input(0) + "/unit"));
  division.set_name(quantize.name + "/unit");
  graph.insert_before(quantize, division);
  set_input(graph, quantize, 0, division.output(0));
  const std::string one = graph.add_constant(name + "/unit", Tensor::scalar(1));
  for (OnnxNode* node : {&quantize, &dequantize}) {
    set_input(graph, *node, 1, one);
    if (zero.empty()) continue;
    set_input(graph, *node, 2,
              graph.add_constant(node->proto.input(2) + "/unit", zero));
  }
}

}  // namespace

void share_channel_scales(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (is_op(node, "DequantizeLinear") && has_channel_scales(graph, node)) {
      share_scales_of(graph, node);
    }
  }
}

}  // namespace octet::io::importing
