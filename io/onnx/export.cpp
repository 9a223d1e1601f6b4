#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/onnx_builder.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/version.h>

#include "builder.h"
#include "check.h"

namespace octet::io {
namespace {

using Values = std::unordered_map<const GraphNode*, OnnxValue>;

void check_options(const OnnxOptions& options) {
  if (options.opset < 13 || options.opset > 17) {
    throw ValueError(fmt::format(
        "ONNX opset: expected 13 to 17, got {}; 13 is read by every TensorRT "
        "since 8.0",
        options.opset));
  }
  if (options.input_name.empty() || options.output_name.empty() ||
      options.input_name == options.output_name) {
    throw ValueError(fmt::format(
        "ONNX names: expected two different names for input and output, got "
        "'{}' and '{}'",
        options.input_name, options.output_name));
  }
}

const GraphNode* input_of(const Model& model) {
  if (model.inputs().size() != 1 || model.outputs().size() != 1) {
    throw UnsupportedError(
        fmt::format("ONNX export: expected a model with one input and one "
                    "output, got {} and {}",
                    model.inputs().size(), model.outputs().size()));
  }
  return model.inputs()[0].node.get();
}

std::string describe(const GraphNode& node,
                     const std::vector<OnnxValue>& inputs) {
  std::string text = node.layer->describe();
  for (const OnnxValue& input : inputs) {
    text +=
        (&input == inputs.data() ? ", input " : ", ") + input.shape.to_string();
  }
  return text;
}

void emit(const GraphNode& node, GraphBuilder& builder, Values& values) {
  std::vector<OnnxValue> inputs;
  for (const SymbolicTensor& input : node.inputs) {
    inputs.push_back(values.at(input.node.get()));
  }
  values[&node] =
      with_context([&] { return describe(node, inputs); },
                   [&] {
                     EmitContext context(builder, node.layer->name());
                     return node.layer->emit(context, inputs);
                   });
}

/// Only what the graph itself does not tell.
void add_metadata(onnx::ModelProto& proto, const Model& model,
                  int64_t qdq_pairs) {
  const auto add = [&](std::string key, std::string value) {
    auto* entry = proto.add_metadata_props();
    entry->set_key(std::move(key));
    entry->set_value(std::move(value));
  };
  const auto is_image = [](const SymbolicTensor& tensor) {
    return tensor.shape().rank() == 4;
  };
  if (is_image(model.inputs()[0])) add("input_layout", "NCHW");
  if (is_image(model.outputs()[0])) add("output_layout", "NCHW");
  if (qdq_pairs > 0) add("quantization", "int8, symmetric, explicit Q/DQ");
}

onnx::ModelProto to_proto(const Model& model, const OnnxOptions& options,
                          int64_t& qdq_pairs) {
  onnx::ModelProto proto;
  proto.set_ir_version(options.opset >= 15 ? 8 : 7);
  proto.set_producer_name("octet");
  proto.set_producer_version(version());
  if (!options.description.empty()) {
    proto.set_doc_string(options.description);
  }
  auto* opset = proto.add_opset_import();
  opset->set_domain("");
  opset->set_version(options.opset);
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name(model.name().empty() ? "model" : model.name());

  const GraphNode* const input = input_of(model);
  GraphBuilder builder(graph);
  builder.reserve(options.input_name);
  builder.reserve(options.output_name);
  builder.add_input(options.input_name, onnx_shape(input->shape));
  Values values;
  values[input] = {options.input_name, input->shape};
  for (const auto& node : model.nodes()) {
    if (node.get() != input) emit(*node, builder, values);
  }

  const GraphNode& last = *model.outputs()[0].node;
  OnnxValue output = values.at(&last);
  // A flattened image that nobody reads: the graph speaks Keras' order.
  if (output.flattened_from.rank() > 0) {
    EmitContext context(builder, last.layer->name());
    output = context.keras_order(output);
  }
  builder.add_output(output.name, options.output_name,
                     onnx_shape(output.shape));
  qdq_pairs = builder.qdq_pairs();
  add_metadata(proto, model, qdq_pairs);
  return proto;
}

}  // namespace

OnnxFile to_onnx(const Model& model, const OnnxOptions& options) {
  return with_context(
      [&] {
        return fmt::format("in the ONNX export of model '{}'", model.name());
      },
      [&] {
        check_options(options);
        OnnxFile file;
        OnnxReport& report = file.report;
        file.bytes = serialize_onnx(to_proto(model, options, report.qdq_pairs));
        report.bytes = static_cast<int64_t>(file.bytes.size());
        // What is checked is what a reader will get.
        onnx::ModelProto copy = parse_onnx(file.bytes);
        report.nodes = copy.graph().node_size();
        check_onnx(copy);
        return file;
      });
}

OnnxReport export_onnx(const Model& model, const std::filesystem::path& path,
                       const OnnxOptions& options) {
  const OnnxFile file = to_onnx(model, options);
  write_file(path, file.bytes);
  return file.report;
}

}  // namespace octet::io
