#include "ports.h"

#include <algorithm>
#include <map>
#include <span>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/layers/embedding.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

void check_count(const std::vector<std::string>& names, size_t count,
                 std::string_view which) {
  if (names.empty() || names.size() == count) return;
  throw ValueError("count_mismatch", fmt::format("ONNX {} names", which),
                   fmt::format("model has {} {}s, got {} names", count, which,
                               names.size()));
}

/// Ports named, in this order, by `names`, by `given`, or by `single` for a
/// single tensor. Names of other ports stay empty; layers name them.
std::vector<OnnxPort> ports_of(std::span<const SymbolicTensor> tensors,
                               const std::vector<OnnxPort>& given,
                               const std::vector<std::string>& names,
                               const std::string& single,
                               std::string_view which) {
  check_count(names, tensors.size(), which);
  std::vector<OnnxPort> ports = given;
  ports.resize(tensors.size());
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) {
      throw ValueError("missing_value", fmt::format("ONNX {} names", which),
                       "names must not be empty, got ''");
    }
    ports[i].name = names[i];
  }
  if (ports.size() == 1 && ports[0].name.empty()) {
    if (single.empty()) {
      throw ValueError("missing_value", fmt::format("ONNX {} name", which),
                       "must not be empty, got ''");
    }
    ports[0].name = single;
  }
  return ports;
}

void check_names(std::span<const OnnxPort> ports,
                 std::unordered_set<std::string>& taken) {
  for (const OnnxPort& port : ports) {
    if (port.name.empty() || taken.insert(port.name).second) continue;
    throw ValueError("duplicate_name", "ONNX names",
                     fmt::format("names of inputs and outputs must be unique, "
                                 "got '{}' twice",
                                 port.name));
  }
}

int32_t element_type(const std::string& type) {
  static const std::map<std::string, int32_t, std::less<>> kTypes = {
      {"float32", onnx::TensorProto::FLOAT},
      {"float16", onnx::TensorProto::FLOAT16},
      {"bfloat16", onnx::TensorProto::BFLOAT16},
      {"float64", onnx::TensorProto::DOUBLE},
      {"bool", onnx::TensorProto::BOOL},
      {"uint8", onnx::TensorProto::UINT8},
      {"int8", onnx::TensorProto::INT8},
      {"uint16", onnx::TensorProto::UINT16},
      {"int16", onnx::TensorProto::INT16},
      {"int32", onnx::TensorProto::INT32},
      {"int64", onnx::TensorProto::INT64}};
  const auto found = kTypes.find(type);
  if (found != kTypes.end()) return found->second;
  throw ValueError(
      "unsupported_type", "ONNX interface",
      fmt::format("inputs and outputs cannot have the element type '{}'",
                  type));
}

Shape shape_in(const std::vector<int>& axes, const Shape& shape) {
  Shape result = shape;
  for (int i = 0; i < shape.rank(); ++i) {
    result = result.with(axes[static_cast<size_t>(i)], shape[i]);
  }
  return result;
}

/// Returns the shape in the file.
Shape shape_of(const OnnxPort& port, const std::vector<int>& axes,
               const Shape& shape) {
  const Shape all = shape_in(axes, shape);
  return port.batched ? all : all.slice(1, all.rank());
}

/// Adds or removes the batch axis of a single sample, with Unsqueeze or
/// Squeeze. Returns its name.
std::string with_batch(GraphBuilder& builder, const char* op,
                       const OnnxPort& port, const std::string& value) {
  if (port.batched) return value;
  const std::string axes = builder.add_initializer(
      port.name + "/batch_axis", Tensor::of<int64_t>({1}, {0}));
  return builder.add_node(op, port.name + "/batch", {value, axes});
}

/// Transposes `value` from one axis order to another. Returns its name.
std::string in_order(GraphBuilder& builder, const std::string& value,
                     const std::string& node, const std::vector<int>& from,
                     const std::vector<int>& to) {
  if (from == to) return value;
  std::vector<int64_t> perm(from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    perm[static_cast<size_t>(to[i])] = from[i];
  }
  return builder.add_node("Transpose", node, {value}, {{"perm", perm}});
}

}  // namespace

Ports::Ports(const Model& model, const OnnxExportOptions& options,
             GraphBuilder& builder)
    : builder_(builder), layout_(options.layout) {
  const bool given = !options.interface.empty();
  if (given && !options.interface.fits(model)) {
    throw ValueError(
        "shape_mismatch", "ONNX interface",
        fmt::format("{} inputs and {} outputs do not fit the model's {} and "
                    "{}, or their ranks differ",
                    options.interface.inputs.size(),
                    options.interface.outputs.size(), model.inputs().size(),
                    model.outputs().size()));
  }
  inputs_ = ports_of(model.inputs(), options.interface.inputs,
                     options.input_names, options.input_name, "input");
  if (options.interface.inputs.empty()) {
    const std::vector<int64_t> limits = index_limits(model);
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (limits[i] > 0) inputs_[i].type = "int64";
    }
  }
  outputs_ = ports_of(model.outputs(), options.interface.outputs,
                      options.output_names, options.output_name, "output");
  std::unordered_set<std::string> taken;
  check_names(inputs_, taken);
  check_names(outputs_, taken);
  for (const std::string& name : taken) builder.reserve(name);
  const auto from_layers = [&](std::vector<OnnxPort>& ports,
                               std::span<const SymbolicTensor> tensors) {
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!ports[i].name.empty()) continue;
      ports[i].name = builder.reserve_like(
          quant::float_layer(*tensors[i].node->layer).name());
    }
  };
  from_layers(inputs_, model.inputs());
  from_layers(outputs_, model.outputs());
}

std::vector<int> Ports::axes_of(const OnnxPort& port, int rank,
                                std::vector<std::string>& layouts) {
  const std::vector<int> last = channels_last_axes(rank);
  const bool given = layout_ == OnnxLayout::as_given && !port.axes.empty();
  const bool is_fixed = given || layout_ == OnnxLayout::channels_last;
  std::vector<int> axes = given ? port.axes : last;
  if (rank == 4 && !is_fixed) axes = channels_first_axes(rank);
  const bool first = axes == channels_first_axes(rank);
  std::string& name = layouts.emplace_back();
  if (rank == 4 && axes == last) name = "NHWC";
  if (rank == 4 && first) name = "NCHW";
  if (rank == 3 && first) name = "NCL";
  if (rank == 3) rank_3_.insert(port.name);
  if (rank == 3 && !is_fixed) open_.insert(port.name);
  return axes;
}

OnnxValue Ports::add_input(size_t index, const GraphNode& input) {
  const OnnxPort& port = inputs_.at(index);
  OnnxValue value{port.name, input.shape};
  const std::vector<int> axes =
      axes_of(port, input.shape.rank(), input_layouts_);
  const int32_t type = element_type(port.type);
  builder_.add_input(port.name, shape_of(port, axes, input.shape), type);
  // TensorRT accepts uint8 inputs if a Cast consumes them.
  if (type != onnx::TensorProto::FLOAT) {
    value.name = builder_.add_node("Cast", port.name + "/float32", {value.name},
                                   {{"to", int64_t{onnx::TensorProto::FLOAT}}});
    const bool is_index =
        type == onnx::TensorProto::INT64 || type == onnx::TensorProto::INT32;
    if (is_index) builder_.note_integers(value.name, port.name);
  }
  value.name = with_batch(builder_, "Unsqueeze", port, value.name);
  value.name = in_order(builder_, value.name, port.name + "/transposed", axes,
                        channels_last_axes(input.shape.rank()));
  return value;
}

void Ports::add_outputs(std::span<const OnnxValue> values) {
  // Nodes come before outputs: add_output() renames an output's value.
  std::vector<std::string> names;
  std::vector<std::vector<int>> orders;
  const bool has_batch = std::ranges::any_of(inputs_, &OnnxPort::batched);
  for (size_t i = 0; i < values.size(); ++i) {
    const OnnxPort& port = outputs_.at(i);
    const int rank = values[i].shape.rank();
    const std::vector<int>& axes =
        orders.emplace_back(axes_of(port, rank, output_layouts_));
    const std::string value =
        port.batched ? values[i].name : builder_.one_sample(values[i].name);
    std::string& name =
        names.emplace_back(in_order(builder_, value, port.name + "/transposed",
                                    channels_last_axes(rank), axes));
    if (has_batch && !port.batched && value == values[i].name) {
      // Constant: all samples are equal.
      name = builder_.add_node(
          "Gather", port.name + "/sample",
          {name, builder_.add_initializer(port.name + "/index",
                                          Tensor::of<int64_t>({}, {0}))},
          {{"axis", int64_t{0}}});
    } else {
      name = with_batch(builder_, "Squeeze", port, name);
    }
    if (port.type == "float32") continue;
    name = builder_.add_node("Cast", port.name + "/" + port.type, {name},
                             {{"to", int64_t{element_type(port.type)}}});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    const OnnxPort& port = outputs_[i];
    builder_.add_output(names[i], port.name,
                        shape_of(port, orders[i], values[i].shape),
                        element_type(port.type));
  }
}

void Ports::set_sequence_layouts(
    const std::unordered_set<std::string>& sequences) {
  const auto set = [&](const std::vector<OnnxPort>& ports,
                       std::vector<std::string>& layouts) {
    for (size_t i = 0; i < ports.size(); ++i) {
      const std::string& name = ports[i].name;
      if (!layouts[i].empty() || !sequences.contains(name)) continue;
      layouts[i] = open_.contains(name) ? "NCL" : "NLC";
    }
  };
  set(inputs_, input_layouts_);
  set(outputs_, output_layouts_);
}

std::vector<std::string> Ports::mixed_sequences() const {
  std::vector<std::string> first;
  bool mixed = false;
  const auto add = [&](const std::vector<OnnxPort>& ports,
                       const std::vector<std::string>& layouts) {
    const bool any = std::ranges::find(layouts, "NCL") != layouts.end();
    for (size_t i = 0; i < ports.size(); ++i) {
      if (layouts[i] == "NCL") first.push_back(ports[i].name);
      mixed = mixed ||
              (any && layouts[i] != "NCL" && rank_3_.contains(ports[i].name));
    }
  };
  add(inputs_, input_layouts_);
  add(outputs_, output_layouts_);
  return mixed ? first : std::vector<std::string>();
}

std::string Ports::layouts_text(const std::vector<std::string>& layouts) {
  std::string text;
  for (const char* known : {"NCHW", "NHWC", "NCL", "NLC"}) {
    if (std::ranges::find(layouts, known) == layouts.end()) continue;
    text += (text.empty() ? "" : ", ") + std::string(known);
  }
  return text;
}

}  // namespace octet::io
