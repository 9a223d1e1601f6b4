// TracedModel: runs a model or a file and records all values.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <span>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <octet/io/compare.h>
#include <octet/io/json.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "arranged.h"
#include "elements.h"
#include "foreign_errors.h"
#include "limit_checks.h"
#include "onnx/check/check.h"
#include "onnx/export/ports.h"
#include "onnx/graph/qdq.h"
#include "onnx/lint/graph.h"
#include "onnx/reference/constants.h"
#include "onnx/reference/program.h"
#include "traced_body.h"

namespace octet::io {

namespace {

using lint::LintGraph;

/// Returns the layout of an input or output. Files of Octet record it for
/// images and for sequences of convolutions.
std::optional<OnnxLayout> layout_of(const onnx::ModelProto& model,
                                    const OnnxTensorInfo& port, bool is_input) {
  if (model.producer_name() != "octet") return std::nullopt;
  const auto value_of = [&](std::string_view key) -> const std::string* {
    for (const auto& entry : model.metadata_props()) {
      if (entry.key() == key) return &entry.value();
    }
    return nullptr;
  };
  const bool is_image = port.shape && port.shape->size() == 4;
  const std::string* layouts =
      value_of(is_input ? "input_layout" : "output_layout");
  bool first = layouts != nullptr &&
               layouts->find(is_image ? "NCHW" : "NCL") != std::string::npos;
  const std::string* sequences = value_of(kSequencesKey);
  if (sequences != nullptr && !is_image) {
    const Config names = from_json(*sequences);
    first = std::ranges::any_of(names.as_list(), [&](const Config& name) {
      return name.as_string() == port.name;
    });
  }
  return first ? OnnxLayout::channels_first : OnnxLayout::channels_last;
}

/// Returns the layout that a port of a model defines; nothing for other orders.
std::optional<OnnxLayout> layout_of(const std::vector<int>& axes) {
  const int rank = static_cast<int>(axes.size());
  if (axes == channels_last_axes(rank)) return OnnxLayout::channels_last;
  if (axes == channels_first_axes(rank)) return OnnxLayout::channels_first;
  return std::nullopt;
}

/// Whether the input of a file is a single sample without a batch axis, as in
/// import_onnx().
bool is_single_sample(const OnnxTensorInfo& input) {
  return input.shape && input.shape->size() == 1 &&
         std::holds_alternative<int64_t>(input.shape->front());
}

/// Runs a function of a single sample without batch axis for each sample.
std::vector<Tensor> run_each(
    const Tensor& x,
    const std::function<std::vector<Tensor>(const Tensor&)>& run) {
  const Shape one = x.shape().slice(1, x.shape().rank());
  std::vector<std::vector<Tensor>> samples;
  for (int64_t i = 0; i < x.shape()[0]; ++i) {
    samples.push_back(run(x.slice(i, 1).reshaped(one)));
  }
  std::vector<Tensor> values{as_floats(x)};
  for (size_t i = 1; i < samples.front().size(); ++i) {
    values.push_back(joined(samples, i));
  }
  return values;
}

std::optional<TensorQuantParams> qparams_from(const LintGraph& graph,
                                              const OnnxNode& quantize) {
  const auto scale = graph.scales(quantize);
  if (!scale || scale->size() != 1) return std::nullopt;
  TensorQuantParams qparams{.scale = static_cast<float>(scale->front())};
  if (!quantize.input(2).empty()) {
    const auto zero = graph.numbers(quantize.input(2));
    if (!zero || zero->size() != 1) return std::nullopt;
    qparams.zero_point = static_cast<float>(zero->front());
  }
  const int32_t type = graph.element_type(quantize.output(0));
  if (type == onnx::TensorProto::UINT8) {
    qparams.lowest = 0;
    qparams.highest = 255;
  } else if (type != onnx::TensorProto::INT8) {
    return std::nullopt;
  }
  return qparams;
}

/// Returns the quantization parameters that the consumers of a value apply.
std::optional<TensorQuantParams> qparams_of(const LintGraph& graph,
                                            const std::string& value) {
  std::optional<TensorQuantParams> qparams;
  bool only = !graph.is_output(value);  // all consumers are quantized
  const auto consumers = graph.consumers(value);
  for (const OnnxNode* consumer : consumers) {
    const auto by =
        is_quantize(*consumer) ? qparams_from(graph, *consumer) : std::nullopt;
    if (!qparams) qparams = by;
    only = only && by && *by == *qparams;
  }
  if (qparams)
    qparams->rectifies = only && qparams->zero_point == qparams->lowest;
  return qparams;
}

Shape open_shape_of(const OnnxTensorInfo& input) {
  if (!is_port_type(input.type) || !input.shape || input.shape->empty()) {
    throw UnsupportedError("unsupported_type",
                           fmt::format("ONNX input '{}'", input.name),
                           fmt::format("must be float32, bool or integers with "
                                       "a batch dimension, got {} {}",
                                       input.type, to_string(input.shape)));
  }
  std::vector<int64_t> dims;
  for (const OnnxDim& dim : *input.shape) {
    const auto* size = std::get_if<int64_t>(&dim);
    dims.push_back(size == nullptr ? Shape::kAnySize : *size);
  }
  return Shape(std::span<const int64_t>(dims));
}

/// Values of a graph by their names in the file.
class FileTrace {
 public:
  explicit FileTrace(const LintGraph& graph) : graph_(graph) {
    const auto inputs = graph.inputs();
    if (inputs.size() != 1) {
      throw UnsupportedError(
          "unsupported_model", "ONNX model",
          fmt::format("must have one input, got {}", inputs.size()));
    }
    add(inputs[0].name, inputs[0].name, "Input", {});
    for (const OnnxNode& node : graph.all_nodes()) add(node);
  }

  std::vector<TracedValue> values;
  std::vector<std::string> names;  ///< in the file

  std::optional<size_t> find(const std::string& value) const {
    const auto found = where_.find(value);
    if (found == where_.end()) return std::nullopt;
    return found->second;
  }

 private:
  void add(const std::string& value, const std::string& name,
           const std::string& op, std::vector<size_t> reads) {
    where_[value] = values.size();
    names.push_back(value);
    values.push_back(
        {plain_name(name), op, std::move(reads), qparams_of(graph_, value)});
  }

  void add(const OnnxNode& node) {
    const std::string& value = node.output(0);
    if (graph_.is_constant(value)) return;
    std::vector<size_t> reads;
    for (const auto& input : node.input()) {
      if (const auto at = find(input)) reads.push_back(*at);
    }
    // A Q/DQ pair is traced as its input.
    const bool pair = is_quantize(node) || is_dequantize(node);
    if (pair && !reads.empty() && !graph_.is_output(value)) {
      where_[value] = reads[0];
      return;
    }
    if (graph_.element_type(value) == onnx::TensorProto::FLOAT) {
      add(value, name_of(node), node.op_type(), std::move(reads));
    }
  }

  const LintGraph& graph_;
  std::unordered_map<std::string, size_t> where_;
};

}  // namespace

Tensor joined(const std::vector<std::vector<Tensor>>& samples, size_t value) {
  const Tensor& first = samples.front()[value];
  std::vector<int64_t> dims(first.shape().dims().begin(),
                            first.shape().dims().end());
  if (dims.empty() || dims[0] != 1) dims.insert(dims.begin(), 1);
  dims[0] = std::ssize(samples);
  Tensor result(Shape(std::span<const int64_t>(dims)), first.dtype());
  for (size_t i = 0; i < samples.size(); ++i) {
    const Tensor& one = samples[i][value];
    if (one.bytes() != first.bytes()) {
      throw UnsupportedError("unsupported_model", "file",
                             "sizes of values depend on the sample");
    }
    std::memcpy(static_cast<std::byte*>(result.raw()) +
                    i * static_cast<size_t>(one.bytes()),
                one.raw(), static_cast<size_t>(one.bytes()));
  }
  return result;
}

std::string plain_name(std::string_view name) {
  std::string_view plain = quant::float_name(name);
  while (plain != name) {
    name = plain;
    plain = quant::float_name(name);
  }
  return std::string(plain);
}

TracedModel::TracedModel(std::shared_ptr<const Body> body)
    : body_(std::move(body)) {}

TracedModel::TracedModel(Model read, const OnnxInterface& interface) {
  if (!interface.empty() && !interface.fits(read)) {
    throw ValueError(
        "invalid_value", fmt::format("model '{}'", read.name()),
        "inputs or outputs differ from those of the ONNX interface");
  }
  const auto model = std::make_shared<const Model>(std::move(read));
  if (model->inputs().size() != 1) {
    throw UnsupportedError(
        "unsupported_model", fmt::format("model '{}'", model->name()),
        fmt::format("must have one input, got {}", model->inputs().size()));
  }
  Body body;
  std::unordered_map<const GraphNode*, size_t> where;
  const auto add = [&](const GraphNode& node) {
    TracedValue value{plain_name(node.layer->name()),
                      quant::float_layer(*node.layer).class_name(),
                      {}};
    for (const SymbolicTensor& input : node.inputs) {
      value.reads.push_back(where.at(input.node.get()));
    }
    where[&node] = body.values.size();
    body.values.push_back(std::move(value));
  };
  for (const auto& node : model->nodes()) add(*node);
  for (const SymbolicTensor& output : model->outputs()) {
    const std::vector<int> own = channels_last_axes(output.shape().rank());
    const size_t i = body.outputs.size();
    const bool given = !interface.empty() && !interface.outputs[i].axes.empty();
    body.outputs.push_back(where.at(output.node.get()));
    body.output_layouts.push_back(
        layout_of(given ? interface.outputs[i].axes : own));
  }
  const Shape& shape = model->inputs()[0].shape();
  const std::vector<int> own = channels_last_axes(shape.rank());
  const bool given =
      !interface.inputs.empty() && !interface.inputs[0].axes.empty();
  const std::vector<int> file = given ? interface.inputs[0].axes : own;
  body.input_shape = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    body.input_shape =
        body.input_shape.with(file[static_cast<size_t>(i)], shape[i]);
  }
  body.is_file = !interface.empty();
  body.input_channels_first =
      file != own && file == channels_first_axes(shape.rank());
  const std::vector<size_t> outputs = body.outputs;
  body.run = [model, where, own, file, outputs,
              ports = interface.outputs](const Tensor& x) {
    const NoGradGuard guard;
    std::vector<Tensor> values(where.size());
    const Tensor as_given = as_floats(x);
    const Variable input(in_axes(as_given, file, own));
    (void)model->run(std::span(&input, 1),
                     [&](const GraphNode& node, const Variable& y) {
                       values[where.at(&node)] = y.value();
                     });
    values[0] = as_given;
    std::vector<bool> done(values.size());  // a value may be two outputs
    for (size_t i = 0; i < ports.size(); ++i) {
      if (done[outputs[i]] || ports[i].axes.empty()) continue;
      done[outputs[i]] = true;
      Tensor& y = values[outputs[i]];
      const bool is_input = outputs[i] == 0;
      y = in_axes(y, is_input ? file : channels_last_axes(y.shape().rank()),
                  ports[i].axes);
    }
    return values;
  };
  body_ = std::make_shared<const Body>(std::move(body));
}

TracedModel TracedModel::from_onnx_bytes(const std::string& bytes,
                                         const FileLimits& limits) {
  check_limits(limits);
  onnx::ModelProto model = without_foreign_errors("ONNX model", [&] {
    onnx::ModelProto parsed = parse_onnx(bytes);
    check_onnx(parsed);
    return parsed;
  });
  const LintGraph graph(model);
  FileTrace trace(graph);
  Body body;
  body.channels_first = body.is_file = true;
  const auto layout = layout_of(model, graph.inputs()[0], true);
  body.input_channels_first.reset();
  if (layout) {
    body.input_channels_first = layout == OnnxLayout::channels_first;
  }
  const bool single = is_single_sample(graph.inputs()[0]);
  body.input_shape = open_shape_of(graph.inputs()[0]);
  if (single) body.input_shape = Shape({Shape::kAnySize, body.input_shape[0]});
  // All traced values become outputs of the graph.
  std::unordered_map<std::string, size_t> outputs;
  for (const OnnxTensorInfo& output : graph.outputs()) {
    const auto value = trace.find(output.name);
    if (!value) {
      throw UnsupportedError("unsupported_type",
                             fmt::format("ONNX output '{}'", output.name),
                             "must be a computed float32 value");
    }
    body.outputs.push_back(*value);
    body.output_layouts.push_back(layout_of(model, output, false));
    outputs.emplace(output.name, outputs.size());
  }
  std::vector<size_t> places(trace.names.size());
  for (size_t i = 1; i < trace.names.size(); ++i) {
    const auto [place, is_new] =
        outputs.emplace(trace.names[i], outputs.size());
    places[i] = place->second;
    if (!is_new) continue;
    auto* output = model.mutable_graph()->add_output();
    output->set_name(trace.names[i]);
    output->mutable_type()->mutable_tensor_type()->set_elem_type(
        onnx::TensorProto::FLOAT);
  }
  body.values = std::move(trace.values);
  const auto program =
      std::make_shared<const run::Program>(run::program_of(std::move(model)));
  body.run = [program, places, limits](const Tensor& given) {
    const auto type = run::dtype_of(program->input_types.at(0));
    const Tensor x = as_integers(given, type.value_or(DType::f32));
    run::check_inputs(*program, std::span(&x, 1));
    const run::Values made = run::run(*program, std::span(&x, 1), limits);
    std::vector<Tensor> values{as_floats(given)};
    for (size_t i = 1; i < places.size(); ++i) {
      values.push_back(made[places[i]]);
    }
    return values;
  };
  if (single) {
    body.run = [run = body.run](const Tensor& x) { return run_each(x, run); };
  }
  return TracedModel(std::make_shared<const Body>(std::move(body)));
}

TracedModel TracedModel::from_onnx(const std::filesystem::path& path,
                                   const FileLimits& limits) {
  check_limits(limits);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        // Includes the data in external files.
        return from_onnx_bytes(
            serialize_onnx(read_onnx(path, limits.memory_limit)), limits);
      });
}

const std::vector<TracedValue>& TracedModel::values() const {
  return body_->values;
}

const std::vector<size_t>& TracedModel::outputs() const {
  return body_->outputs;
}

bool TracedModel::channels_first() const { return body_->channels_first; }

std::optional<bool> TracedModel::input_channels_first() const {
  return body_->input_channels_first;
}

std::optional<OnnxLayout> TracedModel::output_layout(size_t output) const {
  return body_->output_layouts.at(output);
}

bool TracedModel::is_file() const { return body_->is_file; }

Shape TracedModel::input_shape() const { return body_->input_shape; }

std::vector<Tensor> TracedModel::run(const Tensor& x) const {
  return body_->run(x);
}

}  // namespace octet::io
