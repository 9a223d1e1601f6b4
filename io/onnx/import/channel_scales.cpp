#include "channel_scales.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "../graph_view.h"
#include "../qdq.h"
#include "../tensors.h"
#include "unique_names.h"

namespace octet::io::importing {
namespace {

using onnx::NodeProto;
using onnx::TensorProto;

int64_t integer_or(const NodeProto& node, const char* name, int64_t otherwise) {
  const auto* attribute = find_attribute(node, name);
  return attribute == nullptr ? otherwise : attribute->i();
}

bool is_float32(const TensorProto* tensor) {
  return tensor != nullptr && tensor->data_type() == TensorProto::FLOAT;
}

class ChannelScales {
 public:
  explicit ChannelScales(onnx::GraphProto& graph)
      : graph_(graph), before_(graph), view_(before_) {
    for (int i = 0; i < before_.node_size(); ++i) {
      const NodeProto& node = before_.node(i);
      index_[&node] = i;
      names_.insert(node.name());
      names_.insert(node.output().begin(), node.output().end());
    }
    for (const auto& tensor : before_.initializer()) {
      names_.insert(tensor.name());
    }
    for (const auto& output : before_.output())
      outputs_.push_back(output.name());
  }

  void run() {
    for (const NodeProto& node : before_.node()) {
      if (is_dequantize(node) && fits(node)) share(node);
    }
    if (divisions_.empty()) return;
    google::protobuf::RepeatedPtrField<NodeProto> nodes;
    nodes.Swap(graph_.mutable_node());
    for (int i = 0; i < nodes.size(); ++i) {
      const auto division = divisions_.find(i);
      if (division != divisions_.end()) {
        *graph_.add_node() = std::move(division->second);
      }
      graph_.add_node()->Swap(&nodes[i]);
    }
  }

 private:
  /// Returns the Q of an activation's pair with a scale per channel, or null.
  const NodeProto* quantizer(const NodeProto& dequantize) const {
    const NodeProto* quantize = view_.producer(dequantize.input(0));
    if (quantize == nullptr || !is_quantize(*quantize) ||
        view_.constant(quantize->input(0)) != nullptr ||
        view_.consumers(quantize->output(0)).size() != 1 ||
        quantize->input_size() != dequantize.input_size()) {
      return nullptr;
    }
    for (int i = 1; i < quantize->input_size(); ++i) {
      if (quantize->input(i) != dequantize.input(i)) return nullptr;
    }
    return quantize;
  }

  bool fits(const NodeProto& dequantize) const {
    const NodeProto* quantize = quantizer(dequantize);
    const TensorProto* scales = view_.constant(dequantize.input(1));
    if (quantize == nullptr || !is_float32(scales) ||
        scales->dims_size() != 1 || scales->dims(0) < 2 ||
        integer_or(*quantize, "axis", 1) != 1 ||
        integer_or(dequantize, "axis", 1) != 1 ||
        std::ranges::find(outputs_, dequantize.output(0)) != outputs_.end()) {
      return false;
    }
    const auto values = float_values(*scales);
    if (!std::ranges::all_of(values, [](float s) { return s > 0; })) {
      return false;
    }
    const auto& consumers = view_.consumers(dequantize.output(0));
    return !consumers.empty() && has_equal_zero_points(dequantize) &&
           std::ranges::all_of(consumers, [&](const NodeProto* conv) {
             return is_depthwise(*conv, dequantize.output(0), scales->dims(0));
           });
  }

  bool has_equal_zero_points(const NodeProto& dequantize) const {
    if (dequantize.input_size() < 3 || dequantize.input(2).empty()) return true;
    const TensorProto* zero = view_.constant(dequantize.input(2));
    if (zero == nullptr) return false;
    const auto same = [](const auto& values) {
      return std::ranges::adjacent_find(values, std::not_equal_to()) ==
             values.end();
    };
    return zero->has_raw_data() ? same(zero->raw_data())
                                : same(zero->int32_data());
  }

  bool is_depthwise(const NodeProto& conv, const std::string& value,
                    int64_t channels) const {
    return conv.op_type() == "Conv" && conv.input(0) == value &&
           conv.input(1) != value && integer_or(conv, "group", 1) == channels &&
           has_scalable_weight(conv);
  }

  // A float constant, or a DQ with constant scales along axis 0, of a constant
  // or of its Q.
  bool has_scalable_weight(const NodeProto& conv) const {
    const TensorProto* weight = view_.constant(conv.input(1));
    if (weight != nullptr) return is_float32(weight);
    const NodeProto* dequantize = view_.producer(conv.input(1));
    if (dequantize == nullptr || !is_dequantize(*dequantize) ||
        view_.consumers(conv.input(1)).size() != 1) {
      return false;
    }
    const TensorProto* scales = view_.constant(dequantize->input(1));
    if (!is_float32(scales) || scales->dims_size() != 1 ||
        integer_or(*dequantize, "axis", 1) != 0) {
      return false;
    }
    if (view_.constant(dequantize->input(0)) != nullptr) return true;
    const NodeProto* quantize = view_.producer(dequantize->input(0));
    return quantize != nullptr && is_quantize(*quantize) &&
           view_.consumers(quantize->output(0)).size() == 1 &&
           quantize->input(1) == dequantize->input(1) &&
           is_float32(view_.constant(quantize->input(0)));
  }

  NodeProto& changed(const NodeProto& node) {
    return *graph_.mutable_node(index_.at(&node));
  }

  std::string add_floats(const std::string& name,
                         const std::vector<int64_t>& dims,
                         const std::vector<float>& values) {
    TensorProto& tensor = *graph_.add_initializer();
    tensor.set_name(names_.add(name));
    tensor.set_data_type(TensorProto::FLOAT);
    tensor.mutable_dims()->Assign(dims.begin(), dims.end());
    tensor.mutable_float_data()->Assign(values.begin(), values.end());
    return tensor.name();
  }

  /// Returns a constant [m,...] whose rows are multiplied by the scales [c] of
  /// their input channels.
  std::string scaled(const std::string& name,
                     const std::vector<float>& scales) {
    const TensorProto& tensor = *view_.constant(name);
    std::vector<float> values = float_values(tensor);
    const size_t rows = static_cast<size_t>(tensor.dims(0));
    const size_t row = values.size() / std::max<size_t>(rows, 1);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] *= scales[i / row * scales.size() / rows];
    }
    return add_floats(name + "/scaled",
                      {tensor.dims().begin(), tensor.dims().end()}, values);
  }

  void scale_weight(const NodeProto& conv, const std::vector<float>& scales) {
    if (view_.constant(conv.input(1)) != nullptr) {
      changed(conv).set_input(1, scaled(conv.input(1), scales));
      return;
    }
    const NodeProto& dequantize = *view_.producer(conv.input(1));
    const std::string products = scaled(dequantize.input(1), scales);
    changed(dequantize).set_input(1, products);
    if (view_.constant(dequantize.input(0)) != nullptr) return;
    NodeProto& quantize = changed(*view_.producer(dequantize.input(0)));
    quantize.set_input(0, scaled(quantize.input(0), scales));
    quantize.set_input(1, products);
  }

  void share(const NodeProto& dequantize) {
    const NodeProto& quantize = *quantizer(dequantize);
    const std::vector<float> scales =
        float_values(*view_.constant(dequantize.input(1)));
    const auto& consumers = view_.consumers(dequantize.output(0));
    for (const NodeProto* conv : consumers) scale_weight(*conv, scales);
    const auto rank = weight_rank(*consumers[0]);
    std::vector<int64_t> dims{static_cast<int64_t>(scales.size())};
    dims.resize(static_cast<size_t>(std::max<int64_t>(rank - 1, 1)), 1);
    NodeProto division;
    division.set_op_type("Div");
    division.set_name(names_.add(quantize.name() + "/unit"));
    division.add_input(quantize.input(0));
    division.add_input(
        add_floats(quantize.input(1) + "/channels", dims, scales));
    division.add_output(names_.add(quantize.input(0) + "/unit"));
    const std::string one = add_floats(quantize.input(1) + "/unit", {}, {1});
    const std::string zero = scalar_zero_point(quantize);
    changed(quantize).set_input(0, division.output(0));
    for (const NodeProto* node : {&quantize, &dequantize}) {
      NodeProto& per_tensor = changed(*node);
      per_tensor.set_input(1, one);
      if (!zero.empty()) per_tensor.set_input(2, zero);
    }
    divisions_.emplace(index_.at(&quantize), std::move(division));
  }

  int64_t weight_rank(const NodeProto& conv) const {
    std::string value = conv.input(1);
    while (view_.constant(value) == nullptr) {
      value = view_.producer(value)->input(0);
    }
    return view_.constant(value)->dims_size();
  }

  /// Returns a scalar copy of a zero point; "" if there is none.
  std::string scalar_zero_point(const NodeProto& quantize) {
    if (quantize.input_size() < 3 || quantize.input(2).empty()) return "";
    TensorProto& zero = *graph_.add_initializer();
    zero = *view_.constant(quantize.input(2));
    zero.set_name(names_.add(quantize.input(2) + "/unit"));
    zero.clear_dims();
    if (zero.has_raw_data()) zero.mutable_raw_data()->resize(1);
    if (zero.int32_data_size() > 1) zero.mutable_int32_data()->Truncate(1);
    return zero.name();
  }

  onnx::GraphProto& graph_;
  const onnx::GraphProto before_;
  const GraphView view_;
  UniqueNames names_;
  std::vector<std::string> outputs_;
  std::unordered_map<const NodeProto*, int> index_;
  std::map<int, NodeProto> divisions_;  // by the index of the Q after them
};

bool has_channel_scales(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, int64_t> counts;
  for (const auto& tensor : graph.initializer()) {
    if (tensor.dims_size() == 1) counts[tensor.name()] = tensor.dims(0);
  }
  return std::ranges::any_of(graph.node(), [&](const NodeProto& node) {
    if (!is_quantize(node) || integer_or(node, "axis", 1) != 1) return false;
    const auto found = counts.find(node.input(1));
    return found != counts.end() && found->second > 1;
  });
}

}  // namespace

void share_channel_scales(onnx::GraphProto& graph) {
  if (has_channel_scales(graph)) ChannelScales(graph).run();
}

}  // namespace octet::io::importing
