#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/json.h>
#include <octet/io/onnx.h>
#include <octet/layers/onnx_builder.h>
#include <octet/quant/fold_batch_norm.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/version.h>

#include "builder.h"
#include "check.h"

namespace octet::io {
namespace {

using Values = std::unordered_map<const GraphNode*, OnnxValue>;

void check_opset(int opset) {
  if (opset < 13 || opset > 17) {
    throw ValueError(fmt::format(
        "ONNX opset: expected 13 to 17, got {}; 13 is read by every TensorRT "
        "since 8.0",
        opset));
  }
}

void check_names(const std::vector<std::string>& names, size_t count,
                 std::string_view which) {
  if (names.empty() || names.size() == count) return;
  throw ValueError(
      fmt::format("ONNX {} names: expected {}, one for each, got {}", which,
                  count, names.size()));
}

/// What inputs or outputs are called: as `chosen`, or `single` where there is
/// one; empty where the layers name them.
std::vector<std::string> chosen_names(const std::vector<std::string>& chosen,
                                      const std::string& single, size_t count,
                                      std::string_view which) {
  check_names(chosen, count, which);
  if (chosen.empty() && count == 1) return {single};
  return chosen;
}

struct ValueNames {
  std::vector<std::string> inputs;
  std::vector<std::string> outputs;
};

/// Reserves the names of inputs and outputs, the chosen ones first, so that
/// those of layers make way.
ValueNames reserve_names(const Model& model, const OnnxOptions& options,
                         GraphBuilder& builder) {
  ValueNames names{chosen_names(options.input_names, options.input_name,
                                model.inputs().size(), "input"),
                   chosen_names(options.output_names, options.output_name,
                                model.outputs().size(), "output")};
  std::unordered_set<std::string> taken;
  for (const auto* list : {&names.inputs, &names.outputs}) {
    for (const std::string& name : *list) {
      if (name.empty() || !taken.insert(name).second) {
        throw ValueError(fmt::format(
            "ONNX names: expected different names for inputs and outputs, got "
            "'{}'{}",
            name, name.empty() ? "" : " twice"));
      }
      builder.reserve(name);
    }
  }
  const auto from_layers = [&](std::vector<std::string>& list,
                               std::span<const SymbolicTensor> tensors) {
    if (!list.empty()) return;
    for (const SymbolicTensor& tensor : tensors) {
      list.push_back(builder.reserve_like(tensor.node->layer->name()));
    }
  };
  from_layers(names.inputs, model.inputs());
  from_layers(names.outputs, model.outputs());
  return names;
}

std::string describe_layer(const GraphNode& node,
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
      with_context([&] { return describe_layer(node, inputs); },
                   [&] {
                     EmitContext context(builder, node.layer->name());
                     return node.layer->emit(context, inputs);
                   });
}

/// The values of the model's outputs. A flattened image among them is put in
/// Keras' order, which a reader of the graph expects.
std::vector<OnnxValue> outputs_of(const Model& model, GraphBuilder& builder,
                                  const Values& values) {
  std::vector<OnnxValue> outputs;
  for (const SymbolicTensor& output : model.outputs()) {
    EmitContext context(builder, output.node->layer->name());
    outputs.push_back(context.keras_order(values.at(output.node.get())));
  }
  return outputs;
}

/// Only what the graph itself does not tell.
void add_metadata(onnx::ModelProto& proto, const Model& model,
                  const OnnxOptions& options, int64_t qdq_pairs) {
  const auto add = [&](std::string key, std::string value) {
    auto* entry = proto.add_metadata_props();
    entry->set_key(std::move(key));
    entry->set_value(std::move(value));
  };
  // Of those that are images, if several are not all.
  const auto has_image = [](std::span<const SymbolicTensor> tensors) {
    return std::ranges::any_of(tensors, [](const SymbolicTensor& tensor) {
      return tensor.shape().rank() == 4;
    });
  };
  if (has_image(model.inputs())) add("input_layout", "NCHW");
  if (has_image(model.outputs())) add("output_layout", "NCHW");
  if (qdq_pairs > 0) add("quantization", "int8, symmetric, explicit Q/DQ");
  if (options.classes.empty()) return;
  const Shape& output = model.outputs()[0].shape();
  if (output[-1] != std::ssize(options.classes)) {
    throw ValueError(
        fmt::format("classes: expected a name for each of {} outputs, got {}",
                    output[-1], options.classes.size()));
  }
  Config::List names;
  for (const std::string& name : options.classes) names.emplace_back(name);
  add("classes", to_json(Config(std::move(names))));
}

onnx::ModelProto to_proto(const Model& given, const OnnxOptions& options,
                          int64_t& qdq_pairs) {
  std::optional<Model> folded;
  if (options.fold_batch_norm) folded = quant::fold_batch_norm(given);
  const Model& model = folded ? *folded : given;
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

  GraphBuilder builder(graph);
  const ValueNames names = reserve_names(given, options, builder);
  Values values;
  for (size_t i = 0; i < names.inputs.size(); ++i) {
    const GraphNode& input = *model.inputs()[i].node;
    builder.add_input(names.inputs[i], onnx_shape(input.shape));
    values[&input] = {names.inputs[i], input.shape};
  }
  for (const auto& node : model.nodes()) {
    if (!values.contains(node.get())) emit(*node, builder, values);
  }
  const std::vector<OnnxValue> outputs = outputs_of(model, builder, values);
  for (size_t i = 0; i < outputs.size(); ++i) {
    builder.add_output(outputs[i].name, names.outputs[i],
                       onnx_shape(outputs[i].shape));
  }
  qdq_pairs = builder.qdq_pairs();
  add_metadata(proto, model, options, qdq_pairs);
  return proto;
}

}  // namespace

OnnxFile to_onnx(const Model& model, const OnnxOptions& options) {
  return with_context(
      [&] {
        return fmt::format("in the ONNX export of model '{}'", model.name());
      },
      [&] {
        check_opset(options.opset);
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
