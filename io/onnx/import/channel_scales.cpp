#include "channel_scales.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "../qdq.h"
#include "../tensors.h"

namespace octet::io::importing {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

bool is_float32(const TensorProto* tensor) {
  return tensor != nullptr && tensor->data_type() == TensorProto::FLOAT;
}

/// Returns the Q of an activation's pair with a scale per channel, or null.
OnnxNode* quantizer_of(OnnxGraph& graph, const OnnxNode& dequantize) {
  OnnxNode* quantize = graph.producer(dequantize.input(0));
  if (quantize == nullptr || !is_quantize(*quantize) ||
      graph.tensor(quantize->input(0)) != nullptr ||
      graph.consumers(quantize->output(0)).size() != 1 ||
      quantize->input_size() != dequantize.input_size()) {
    return nullptr;
  }
  for (int i = 1; i < quantize->input_size(); ++i) {
    if (quantize->input(i) != dequantize.input(i)) return nullptr;
  }
  return quantize;
}

bool has_equal_zero_points(const OnnxGraph& graph, const OnnxNode& dequantize) {
  if (dequantize.input(2).empty()) return true;
  const TensorProto* zero = graph.tensor(dequantize.input(2));
  if (zero == nullptr) return false;
  const auto same = [](const auto& values) {
    return std::ranges::adjacent_find(values, std::not_equal_to()) ==
           values.end();
  };
  return zero->has_raw_data() ? same(zero->raw_data())
                              : same(zero->int32_data());
}

// A float constant, or a DQ with constant scales along axis 0, of a constant or
// of its Q.
bool has_scalable_weight(const OnnxGraph& graph, const OnnxNode& conv) {
  const TensorProto* weight = graph.tensor(conv.input(1));
  if (weight != nullptr) return is_float32(weight);
  const OnnxNode* dequantize = graph.producer(conv.input(1));
  if (dequantize == nullptr || !is_dequantize(*dequantize) ||
      graph.consumers(conv.input(1)).size() != 1) {
    return false;
  }
  const TensorProto* scales = graph.tensor(dequantize->input(1));
  if (!is_float32(scales) || scales->dims_size() != 1 ||
      integer_of(*dequantize, "axis", 1) != 0) {
    return false;
  }
  if (graph.tensor(dequantize->input(0)) != nullptr) return true;
  const OnnxNode* quantize = graph.producer(dequantize->input(0));
  return quantize != nullptr && is_quantize(*quantize) &&
         graph.consumers(quantize->output(0)).size() == 1 &&
         quantize->input(1) == dequantize->input(1) &&
         is_float32(graph.tensor(quantize->input(0)));
}

bool is_scalable_depthwise(const OnnxGraph& graph, const OnnxNode& conv,
                           const std::string& value, int64_t channels) {
  return conv.op_type() == "Conv" && conv.input(0) == value &&
         conv.input(1) != value && integer_of(conv, "group", 1) == channels &&
         has_scalable_weight(graph, conv);
}

bool has_sharable_scales(OnnxGraph& graph, const OnnxNode& dequantize) {
  const OnnxNode* quantize = quantizer_of(graph, dequantize);
  const TensorProto* scales = graph.tensor(dequantize.input(1));
  const std::string& value = dequantize.output(0);
  if (quantize == nullptr || !is_float32(scales) || scales->dims_size() != 1 ||
      scales->dims(0) < 2 || integer_of(*quantize, "axis", 1) != 1 ||
      integer_of(dequantize, "axis", 1) != 1 || graph.is_output(value) ||
      !std::ranges::all_of(float_values(*scales),
                           [](float scale) { return scale > 0; })) {
    return false;
  }
  const auto consumers = graph.consumers(value);
  return !consumers.empty() && has_equal_zero_points(graph, dequantize) &&
         std::ranges::all_of(consumers, [&](const OnnxNode* conv) {
           return is_scalable_depthwise(graph, *conv, value, scales->dims(0));
         });
}

/// Returns a constant [m,...] whose rows are multiplied by the scales [c] of
/// their input channels.
std::string scaled(OnnxGraph& graph, const std::string& name,
                   const std::vector<float>& scales) {
  const TensorProto& tensor = *graph.tensor(name);
  std::vector<float> values = float_values(tensor);
  const size_t rows = static_cast<size_t>(tensor.dims(0));
  const size_t row = values.size() / std::max<size_t>(rows, 1);
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] *= scales[i / row * scales.size() / rows];
  }
  return graph.add_tensor(name + "/scaled",
                          {tensor.dims().begin(), tensor.dims().end()}, values);
}

void scale_weight(OnnxGraph& graph, OnnxNode& conv,
                  const std::vector<float>& scales) {
  if (graph.tensor(conv.input(1)) != nullptr) {
    return graph.set_input(conv, 1, scaled(graph, conv.input(1), scales));
  }
  OnnxNode& dequantize = *graph.producer(conv.input(1));
  const std::string products = scaled(graph, dequantize.input(1), scales);
  graph.set_input(dequantize, 1, products);
  if (graph.tensor(dequantize.input(0)) != nullptr) return;
  OnnxNode& quantize = *graph.producer(dequantize.input(0));
  graph.set_input(quantize, 0, scaled(graph, quantize.input(0), scales));
  graph.set_input(quantize, 1, products);
}

int64_t weight_rank(const OnnxGraph& graph, const OnnxNode& conv) {
  std::string value = conv.input(1);
  while (graph.tensor(value) == nullptr) {
    value = graph.producer(value)->input(0);
  }
  return graph.tensor(value)->dims_size();
}

/// Adds a scalar copy of a zero point and returns its name.
std::string scalar_of(OnnxGraph& graph, const std::string& zero_point) {
  TensorProto zero = *graph.tensor(zero_point);
  zero.clear_dims();
  if (zero.has_raw_data()) zero.mutable_raw_data()->resize(1);
  if (zero.int32_data_size() > 1) zero.mutable_int32_data()->Truncate(1);
  return graph.add_tensor(zero_point + "/unit", std::move(zero));
}

void share_scales(OnnxGraph& graph, OnnxNode& dequantize) {
  OnnxNode& quantize = *quantizer_of(graph, dequantize);
  const std::vector<float> scales =
      float_values(*graph.tensor(dequantize.input(1)));
  const auto consumers = graph.consumers(dequantize.output(0));
  const int64_t rank = weight_rank(graph, *consumers[0]);
  for (OnnxNode* conv : consumers) scale_weight(graph, *conv, scales);
  std::vector<int64_t> dims{static_cast<int64_t>(scales.size())};
  dims.resize(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
  NodeProto division;
  division.set_op_type("Div");
  division.set_name(graph.unique_name(quantize.proto.name() + "/unit"));
  division.add_input(quantize.input(0));
  division.add_input(
      graph.add_tensor(quantize.input(1) + "/channels", dims, scales));
  division.add_output(graph.unique_name(quantize.input(0) + "/unit"));
  const std::string one =
      graph.add_tensor(quantize.input(1) + "/unit", {}, {1});
  const std::string zero =
      quantize.input(2).empty() ? "" : scalar_of(graph, quantize.input(2));
  graph.set_input(quantize, 0, division.output(0));
  for (OnnxNode* node : {&quantize, &dequantize}) {
    graph.set_input(*node, 1, one);
    if (!zero.empty()) graph.set_input(*node, 2, zero);
  }
  graph.insert_before(quantize, std::move(division), quantize.origin);
}

}  // namespace

void share_channel_scales(OnnxGraph& graph) {
  for (OnnxNode& node : graph.nodes()) {
    if (is_dequantize(node) && has_sharable_scales(graph, node)) {
      share_scales(graph, node);
    }
  }
}

}  // namespace octet::io::importing
