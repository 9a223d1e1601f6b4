#include "export.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/custom_layer.h>
#include <octet/quant/post_training.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/file_name.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

#include "builder.h"
#include "class_names.h"
#include "graph_passes.h"
#include "onnx/check/check.h"
#include "onnx/graph/opsets.h"
#include "onnx/layout/assign.h"
#include "ports.h"

namespace octet::io {
namespace {

/// By node: its output.
using Values = std::unordered_map<const GraphNode*, OnnxValue>;

std::string describe_layer(const GraphNode& node,
                           const std::vector<OnnxValue>& inputs) {
  std::string text = node.layer->describe();
  for (const OnnxValue& input : inputs) {
    text +=
        (&input == inputs.data() ? ", input " : ", ") + input.shape.to_string();
  }
  return text;
}

/// Exchanges the names of an activation's first node, which has the layer's
/// name, and the node of its output, so that the value named like the layer is
/// its output.
void name_output(onnx::GraphProto& graph, int first, const std::string& layer,
                 OnnxValue& value) {
  onnx::NodeProto* named = nullptr;
  onnx::NodeProto* last = nullptr;
  for (int i = first; i < graph.node_size(); ++i) {
    onnx::NodeProto& node = *graph.mutable_node(i);
    // Pairs are found by the names of their values.
    if (node.op_type() == "QuantizeLinear") return;
    if (node.name() == layer) named = &node;
    if (node.output(0) == value.name) last = &node;
  }
  if (named == nullptr || last == nullptr || named == last ||
      !last->name().starts_with(layer + "_")) {
    return;
  }
  const std::string old = named->output(0);
  for (int i = first; i < graph.node_size(); ++i) {
    for (auto& input : *graph.mutable_node(i)->mutable_input()) {
      if (input == old) {
        input = value.name;
      } else if (input == value.name) {
        input = old;
      }
    }
  }
  std::swap(*named->mutable_name(), *last->mutable_name());
  std::swap(*named->mutable_output(0), *last->mutable_output(0));
  value.name = old;
}

void emit(const GraphNode& node, onnx::GraphProto& graph, GraphBuilder& builder,
          Values& values) {
  const int first = graph.node_size();
  EmitContext context(builder, node.layer->name());
  std::vector<OnnxValue> inputs;
  for (const SymbolicTensor& input : node.inputs) {
    inputs.push_back(values.at(input.node.get()));
  }
  OnnxValue value =
      with_context([&] { return describe_layer(node, inputs); },
                   [&] { return node.layer->emit(context, inputs); });
  const LayerDef* def = find_layer_def(node.layer->class_name());
  if (def != nullptr && def->role == LayerRole::activation) {
    name_output(graph, first, node.layer->name(), value);
  }
  values.emplace(&node, std::move(value));
}

/// Adds facts that the graph does not contain.
void add_metadata(onnx::ModelProto& proto, const Model& model,
                  const Ports& ports, const OnnxExportOptions& options,
                  int64_t qdq_pairs) {
  const bool uint8 = std::ranges::any_of(
      proto.graph().initializer(), [](const onnx::TensorProto& tensor) {
        return tensor.data_type() == onnx::TensorProto::UINT8;
      });
  const auto add = [&](std::string key, std::string value) {
    auto* entry = proto.add_metadata_props();
    entry->set_key(std::move(key));
    entry->set_value(std::move(value));
  };
  const auto add_layout = [&](const char* key, const std::string& layout) {
    if (!layout.empty()) add(key, layout);
  };
  add_layout("input_layout", ports.input_layout());
  add_layout("output_layout", ports.output_layout());
  const auto add_names = [&](const char* key,
                             const std::vector<std::string>& values) {
    if (values.empty()) return;
    Config::List names;
    for (const std::string& name : values) names.emplace_back(name);
    add(key, to_json(Config(std::move(names))));
  };
  add_names(kSequencesKey, ports.mixed_sequences());
  const bool float8 = std::ranges::any_of(
      proto.graph().initializer(), [](const onnx::TensorProto& tensor) {
        return tensor.data_type() == kFloat8E4M3FN;
      });
  if (qdq_pairs > 0) {
    add("quantization",
        options.uint8_activations
            ? "int8 weights, uint8 activations, explicit Q/DQ"
        : uint8  ? "int8 weights, int8 and uint8 activations, explicit Q/DQ"
        : float8 ? "float8e4m3fn, explicit Q/DQ"
                 : "int8, symmetric, explicit Q/DQ");
  }
  if (!options.preprocess.empty()) {
    (void)preprocess_mode(options.preprocess);
    add("preprocess", options.preprocess);
  }
  if (!options.resize.empty()) {
    (void)resize_mode(options.resize);
    add("resize", options.resize);
  }
  if (options.classes.empty()) return;
  check_class_names(model, options.classes);
  add_names("classes", options.classes);
}

/// Opset 19 introduced float16 scales. float16 would change weights that are
/// stored as float32.
void check_float16(const OnnxExportOptions& options, int64_t qdq_pairs) {
  if (qdq_pairs == 0) return;
  if (options.opset != 0 && options.opset < kFirstOpsetOfHalfScales) {
    throw ValueError("out_of_range", "ONNX float16",
                     fmt::format("a quantized model needs opset {} or later, "
                                 "got {}",
                                 kFirstOpsetOfHalfScales, options.opset));
  }
  if (options.weights != OnnxWeights::int8) {
    throw ValueError("conflicting_options", "ONNX float16",
                     "a quantized model needs int8 weights, got float32, "
                     "which float16 would round. Hint: "
                     "choose int8 weights (--weights int8)");
  }
}

/// Returns the passes of the options and the target.
std::vector<GraphPass> export_passes(const OnnxExportOptions& options) {
  std::vector<GraphPass> passes{{"bias scales", fit_scales_to_biases}};
  if (options.weights == OnnxWeights::int8) {
    passes.push_back({"quantized weights", store_quantized_weights});
  } else {
    passes.push_back({"weights in blocks", store_blocks});
  }
  if (options.uint8_activations) {
    passes.push_back({"uint8 activations", store_uint8_activations});
  } else if (options.target == Target::openvino) {
    passes.push_back({"uint8 at Concat", store_uint8_at_concat});
  }
  if (options.float16) {
    passes.insert(passes.end(), {{"float16 weights", fit_weights_to_float16},
                                 {"float16", to_float16},
                                 {"float16 biases", separate_biases}});
  }
  return passes;
}

/// Returns the batch size; 0 if dynamic.
int64_t batch_of(const OnnxExportOptions& options) {
  if (std::ranges::all_of(options.interface.inputs, &OnnxPort::batched)) {
    return options.batch != 0 ? options.batch : options.interface.batch;
  }
  if (options.batch > 1) {
    throw ValueError("conflicting_options", "ONNX batch size",
                     fmt::format("must be 1, because inputs have no batch "
                                 "dimension, got {}",
                                 options.batch));
  }
  return 1;
}

}  // namespace

ExportedGraph build_onnx(const Model& given, const OnnxExportOptions& options) {
  std::optional<Model> folded;
  if (options.fold_batch_norm) folded = quant::fold_batch_norm(given);
  const Model& model = folded ? *folded : given;
  const int needed = check_formats(model, options.target);
  const int opset_version = options.opset != 0 ? options.opset
                            : options.float16
                                ? std::max(needed, kFirstOpsetOfHalfScales)
                                : needed;
  ExportedGraph result;
  onnx::ModelProto& proto = result.model;
  proto.set_ir_version(ir_version_of(opset_version));
  proto.set_producer_name("octet");
  proto.set_producer_version(version());
  if (!options.description.empty()) {
    proto.set_doc_string(options.description);
  }
  auto* opset = proto.add_opset_import();
  opset->set_domain("");
  opset->set_version(opset_version);
  onnx::GraphProto& graph = *proto.mutable_graph();
  graph.set_name(model.name().empty() ? "model" : model.name());

  // The conversion to float16 changes weights and needs their data in the
  // graph.
  GraphBuilder builder(graph, opset_version, batch_of(options),
                       options.float16 ? nullptr : &result.large);
  builder.set_batch_name(options.interface.batch_name);
  Ports ports(given, options, builder);
  Values values;
  for (size_t i = 0; i < model.inputs().size(); ++i) {
    const GraphNode& input = *model.inputs()[i].node;
    values.emplace(&input, ports.add_input(i, input));
  }
  const auto nodes = model.nodes();
  for (const auto& node : nodes) builder.keep_node_name(node->layer->name());
  for (size_t i = 0; i < nodes.size(); ++i) {
    if (values.contains(nodes[i].get())) continue;
    const int first = graph.node_size();
    emit(*nodes[i], graph, builder, values);
    for (int k = first; k < graph.node_size(); ++k) {
      result.producers.emplace(graph.node(k).name(), i);
    }
  }
  std::vector<OnnxValue> outputs;
  for (const SymbolicTensor& output : model.outputs()) {
    outputs.push_back(values.at(output.node.get()));
  }
  ports.add_outputs(outputs);
  builder.remove_unused_casts();
  const AssignedLayout layout =
      minimize_transposes(proto, result.large, ports.open());
  ports.set_sequence_layouts(layout.sequences);
  for (const auto& [node, consumer] : layout.added) {
    const auto producer = result.producers.find(consumer);
    if (producer != result.producers.end()) {
      result.producers.emplace(node, producer->second);
    }
  }
  result.qdq_pairs = builder.qdq_pairs();
  if (options.float16) check_float16(options, result.qdq_pairs);
  OnnxGraph exported(std::move(proto));
  run_passes(exported, "export pass", export_passes(options));
  proto = std::move(exported).to_model();
  add_metadata(proto, model, ports, options, result.qdq_pairs);
  return result;
}

/// Writes and checks the model. The file is not replaced if this throws.
static OnnxExportReport write_checked(const Model& model,
                                      const OnnxExportOptions& options,
                                      const PutBytes& put) {
  return with_context(
      [&] {
        return fmt::format("in the ONNX export of model '{}'", model.name());
      },
      [&] {
        options.check();
        ExportedGraph graph = build_onnx(model, options);
        OnnxExportReport report;
        report.qdq_pairs = graph.qdq_pairs;
        report.nodes = graph.model.graph().node_size();
        report.bytes = write_onnx(graph.model, graph.large, put);
        check_onnx(graph.model);
        return report;
      });
}

OnnxFile to_onnx(const Model& model, const OnnxExportOptions& options) {
  OnnxFile file;
  file.report = write_checked(
      model, options, [&](std::string_view bytes) { file.bytes += bytes; });
  return file;
}

OnnxExportReport export_onnx(const Model& model,
                             const std::filesystem::path& path,
                             const OnnxExportOptions& options) {
  check_file_name(path, "an ONNX model", {".onnx"});
  OnnxExportReport report;
  write_file(path, [&](const PutBytes& put) {
    report = write_checked(model, options, put);
  });
  return report;
}

}  // namespace octet::io
