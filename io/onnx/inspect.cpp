#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/file_limits.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/io/preprocess.h>
#include <octet/io/resize.h>
#include <octet/runtime/error.h>

#include "check.h"
#include "foreign_errors.h"
#include "graph_view.h"
#include "proto_limits.h"
#include "qdq.h"
#include "tensors.h"

namespace octet::io {
namespace {

std::string producer_of(const onnx::ModelProto& model) {
  std::string text = model.producer_name();
  if (!model.producer_version().empty()) text += " " + model.producer_version();
  return text;
}

OnnxNodeInfo node_info(const onnx::NodeProto& node, const GraphView& view) {
  return {node.op_type(),
          node.name(),
          {node.input().begin(), node.input().end()},
          {node.output().begin(), node.output().end()},
          node.output_size() > 0 ? view.shape(node.output(0)) : OnnxShape()};
}

// Describes the pair that ends with a DequantizeLinear. `tensor` is the input
// of Q, or the stored quantized values if there is no Q.
OnnxQdqPair pair_info(const std::string& tensor, const onnx::NodeProto& node,
                      const GraphView& view) {
  OnnxQdqPair pair;
  pair.tensor = tensor;
  const auto& consumers = view.consumers(node.output(0));
  if (!consumers.empty()) {
    const onnx::NodeProto& consumer = *consumers.front();
    pair.consumer = consumer.name().empty() && consumer.output_size() > 0
                        ? consumer.output(0)
                        : consumer.name();
  }
  pair.kind = view.constant(tensor) != nullptr ? "weight" : "activation";
  pair.type = view.type(node.input(0));
  const QdqParams qparams = qdq_params(node, view);
  pair.axis = qparams.axis;
  pair.scales = static_cast<int64_t>(qparams.scales.size());
  if (!qparams.scales.empty()) {
    const auto [low, high] =
        std::minmax_element(qparams.scales.begin(), qparams.scales.end());
    pair.smallest_scale = *low;
    pair.largest_scale = *high;
  }
  return pair;
}

std::vector<OnnxQdqPair> pairs_of(const GraphView& view) {
  std::vector<OnnxQdqPair> pairs;
  for (const auto& node : view.graph().node()) {
    if (!is_dequantize(node)) continue;
    const std::string& codes = node.input(0);
    const onnx::NodeProto* producer = view.producer(codes);
    if (producer != nullptr && is_quantize(*producer)) {
      pairs.push_back(pair_info(producer->input(0), node, view));
    } else if (view.constant(codes) != nullptr) {
      pairs.push_back(pair_info(codes, node, view));
    }
  }
  return pairs;
}

/// Foreign metadata may contain anything under this key.
std::vector<std::string> classes_of(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != "classes") continue;
    try {
      std::vector<std::string> classes;
      const Config list = from_json(entry.value());
      for (const Config& name : list.as_list()) {
        classes.push_back(name.as_string());
      }
      return classes;
    } catch (const Error&) {
      return {};
    }
  }
  return {};
}

/// See classes_of().
std::string preprocess_of(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != "preprocess") continue;
    try {
      (void)preprocess_mode(entry.value());
      return entry.value();
    } catch (const Error&) {
      return "";
    }
  }
  return "";
}

std::string resize_of(const onnx::ModelProto& model) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != "resize") continue;
    try {
      (void)resize_mode(entry.value());
      return entry.value();
    } catch (const Error&) {
      return "";
    }
  }
  return "";
}

bool is_half(int32_t type) {
  return type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16;
}

bool has_half_precision(const onnx::GraphProto& graph) {
  return std::ranges::any_of(
             graph.initializer(),
             [](const auto& tensor) { return is_half(tensor.data_type()); }) ||
         std::ranges::any_of(graph.value_info(), [](const auto& value) {
           return is_half(value.type().tensor_type().elem_type());
         });
}

OnnxSummary summarize(const onnx::ModelProto& model) {
  const GraphView view(model.graph());
  OnnxSummary summary;
  summary.ir_version = model.ir_version();
  summary.opset = opset_of(model);
  summary.producer = producer_of(model);
  summary.description = model.doc_string();
  summary.inputs = view.inputs();
  summary.outputs = view.outputs();
  for (const auto& node : model.graph().node()) {
    summary.nodes.push_back(node_info(node, view));
  }
  summary.qdq_pairs = pairs_of(view);
  summary.half_precision = has_half_precision(model.graph());
  summary.classes = classes_of(model);
  summary.preprocess = preprocess_of(model);
  summary.resize = resize_of(model);
  summary.initializers = model.graph().initializer_size() +
                         model.graph().sparse_initializer_size();
  for (const auto& tensor : model.graph().initializer()) {
    summary.parameters += element_count(tensor);
  }
  for (const auto& tensor : model.graph().sparse_initializer()) {
    summary.parameters += element_count(tensor.values());
  }
  return summary;
}

}  // namespace

OnnxSummary inspect_onnx(const std::filesystem::path& path) {
  OnnxSummary summary = without_foreign_errors("ONNX model", [&] {
    return summarize(read_onnx(path, FileLimits().memory_limit));
  });
  summary.bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  return summary;
}

}  // namespace octet::io
