#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

#include "foreign_errors.h"
#include "onnx/check/check.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/graph.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

std::string producer_of(const onnx::ModelProto& model) {
  std::string text = model.producer_name();
  if (!model.producer_version().empty()) text += " " + model.producer_version();
  return text;
}

OnnxNodeInfo node_info(const OnnxNode& node, const OnnxGraph& graph) {
  return {node.op_type(),
          node.proto.name(),
          {node.input().begin(), node.input().end()},
          {node.output().begin(), node.output().end()},
          graph.shape(node.output(0))};
}

// Describes the pair that ends with a DequantizeLinear. `tensor` is the input
// of Q, or the stored quantized values if there is no Q.
OnnxQdqPair pair_info(const std::string& tensor, const OnnxNode& node,
                      const OnnxGraph& graph) {
  OnnxQdqPair pair;
  pair.tensor = tensor;
  const auto consumers = graph.consumers(node.output(0));
  if (!consumers.empty()) pair.consumer = name_of(*consumers.front());
  pair.kind = graph.tensor(tensor) != nullptr ? "weight" : "activation";
  pair.type = graph.type(node.input(0));
  const QdqParams qparams = qdq_params(node, graph);
  pair.axis = qparams.axis;
  pair.scales = static_cast<int64_t>(qparams.scales.size());
  if (!qparams.scales.empty()) {
    const auto [low, high] = std::ranges::minmax(qparams.scales);
    pair.smallest_scale = low;
    pair.largest_scale = high;
  }
  return pair;
}

std::vector<OnnxQdqPair> pairs_of(const OnnxGraph& graph) {
  std::vector<OnnxQdqPair> pairs;
  for (const OnnxNode& node : graph.nodes()) {
    if (!is_dequantize(node)) continue;
    const OnnxNode* producer = graph.producer(node.input(0));
    if (producer != nullptr && is_quantize(*producer)) {
      pairs.push_back(pair_info(producer->input(0), node, graph));
    } else if (graph.tensor(node.input(0)) != nullptr) {
      pairs.push_back(pair_info(node.input(0), node, graph));
    }
  }
  return pairs;
}

/// Returns a value of the metadata if `accepts` throws no Error for it: foreign
/// metadata may contain anything under this key.
template <class Accepts>
std::string metadata_of(const onnx::ModelProto& model, std::string_view key,
                        const Accepts& accepts) {
  for (const auto& entry : model.metadata_props()) {
    if (entry.key() != key) continue;
    try {
      accepts(entry.value());
      return entry.value();
    } catch (const Error&) {
      return "";
    }
  }
  return "";
}

std::vector<std::string> classes_of(const onnx::ModelProto& model) {
  std::vector<std::string> classes;
  const auto parse = [&](const std::string& text) {
    std::vector<std::string> names;
    const Config list = from_json(text);
    for (const Config& name : list.as_list()) names.push_back(name.as_string());
    classes = std::move(names);
  };
  (void)metadata_of(model, "classes", parse);
  return classes;
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

// `packed`: constants that the model has as int8.
OnnxSummary summarize(onnx::ModelProto model, const PackedConstants& packed) {
  OnnxSummary summary;
  summary.ir_version = model.ir_version();
  summary.opset = opset_of(model);
  summary.producer = producer_of(model);
  summary.description = model.doc_string();
  summary.half_precision = has_half_precision(model.graph());
  summary.classes = classes_of(model);
  summary.preprocess =
      metadata_of(model, "preprocess",
                  [](const std::string& text) { (void)preprocess_mode(text); });
  summary.resize = metadata_of(model, "resize", [](const std::string& text) {
    (void)resize_mode(text);
  });
  summary.initializers = model.graph().initializer_size() +
                         model.graph().sparse_initializer_size();
  for (const auto& tensor : model.graph().initializer()) {
    summary.parameters += element_count(tensor);
  }
  for (const auto& tensor : model.graph().sparse_initializer()) {
    summary.parameters += element_count(tensor.values());
  }
  const OnnxGraph graph(std::move(model));
  summary.inputs = graph.inputs();
  summary.outputs = graph.outputs();
  for (const OnnxNode& node : graph.nodes()) {
    summary.nodes.push_back(node_info(node, graph));
  }
  summary.qdq_pairs = pairs_of(graph);
  for (OnnxQdqPair& pair : summary.qdq_pairs) {
    const auto stored =
        std::ranges::find(packed, pair.tensor, &onnx::TensorProto::name);
    if (stored != packed.end()) pair.type = type_name(stored->data_type());
  }
  return summary;
}

}  // namespace

OnnxSummary inspect_onnx(const std::filesystem::path& path) {
  OnnxSummary summary = without_foreign_errors("ONNX model", [&] {
    PackedConstants packed;
    onnx::ModelProto model =
        read_onnx(path, FileLimits().memory_limit, &packed);
    return summarize(std::move(model), packed);
  });
  summary.bytes = static_cast<int64_t>(std::filesystem::file_size(path));
  return summary;
}

}  // namespace octet::io
