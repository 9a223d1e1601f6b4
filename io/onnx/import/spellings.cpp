// Equivalent spellings of operators become the form of a recent opset.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <octet/runtime/error.h>

#include "../graph_view.h"
#include "../proto_limits.h"
#include "graph.h"
#include "passes.h"

namespace octet::io::importing {
namespace {

using Integers = std::vector<int64_t>;

onnx::AttributeProto& set_attribute(onnx::NodeProto& node, const char* name,
                                    onnx::AttributeProto::AttributeType type) {
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() != name) continue;
    attribute.Clear();
    attribute.set_name(name);
    attribute.set_type(type);
    return attribute;
  }
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(type);
  return attribute;
}

void set_integer(onnx::NodeProto& node, const char* name, int64_t value) {
  set_attribute(node, name, onnx::AttributeProto::INT).set_i(value);
}

void set_integers(onnx::NodeProto& node, const char* name,
                  const Integers& values) {
  auto& attribute = set_attribute(node, name, onnx::AttributeProto::INTS);
  attribute.mutable_ints()->Assign(values.begin(), values.end());
}

void set_text(onnx::NodeProto& node, const char* name, const char* value) {
  set_attribute(node, name, onnx::AttributeProto::STRING).set_s(value);
}

/// Returns the name of a new constant list.
std::string integers(OnnxGraph& graph, const std::string& name,
                     const Integers& values) {
  std::string unique = graph.unique_name(name);
  graph.set_constant(unique,
                     {Tensor::of<int64_t>({std::ssize(values)},
                                          std::span<const int64_t>(values)),
                      {},
                      unique});
  return unique;
}

onnx::NodeProto node_of(const char* op, std::vector<std::string> inputs,
                        std::string output) {
  onnx::NodeProto node;
  node.set_op_type(op);
  for (std::string& input : inputs) node.add_input(std::move(input));
  node.add_output(std::move(output));
  return node;
}

/// Returns a constant list of integers; nothing for other inputs.
std::optional<Integers> listed(const OnnxGraph& graph,
                               const onnx::NodeProto& node, int input) {
  if (input >= node.input_size() || node.input(input).empty()) return {};
  const OnnxConstant* constant = graph.constant(node.input(input));
  if (constant == nullptr || constant->value.dtype() != DType::i64 ||
      constant->samples_axis) {
    return {};
  }
  const auto values = std::as_const(constant->value).data<int64_t>();
  return Integers(values.begin(), values.end());
}

// Before opset 13, these operators cover all axes from `axis` on.
void spell_softmax(OnnxGraph& graph, OnnxNode& node) {
  if (graph.opset() >= 13) return;
  const std::string x = node.proto.input(0);
  const auto dims = graph.stated(x);
  if (!dims) return;
  const auto rank = std::ssize(*dims);
  int64_t axis = integer_of(node.proto, "axis", 1);
  if (axis < 0) axis += rank;
  // Over the batch, or a single axis.
  if (axis < 1 || axis >= rank ||
      std::ranges::all_of(dims->begin() + axis + 1, dims->end(),
                          [](int64_t size) { return size == 1; })) {
    return;
  }
  const std::string& y = node.proto.output(0);
  Integers merged(static_cast<size_t>(axis), 0);
  merged.push_back(-1);
  const std::string rows = graph.unique_name(y + "/rows");
  graph.insert_before(
      node,
      node_of("Reshape", {x, integers(graph, y + "/merged", merged)}, rows));
  const std::string result = graph.unique_name(y + "/result");
  onnx::NodeProto function = node.proto;
  function.set_input(0, rows);
  function.set_output(0, result);
  set_integer(function, "axis", axis);
  graph.insert_before(node, function, std::exchange(node.origin, {}));
  const std::string shape = graph.unique_name(y + "/shape");
  graph.insert_before(node, node_of("Shape", {x}, shape));
  graph.replace(node, node_of("Reshape", {result, shape}, ""), {});
}

// Import uses running statistics. Training outputs without consumers are
// ignored.
void spell_batch_normalization(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  const bool other_outputs = proto.output_size() > 1;
  for (int i = 1; i < proto.output_size(); ++i) {
    if (!proto.output(i).empty() && graph.uses(proto.output(i)) > 0) return;
  }
  while (proto.output_size() > 1) proto.mutable_output()->RemoveLast();
  const char* name = graph.opset() < 7 ? "is_test" : "training_mode";
  const int64_t inference = graph.opset() < 7 ? 1 : 0;
  const bool states_mode = graph.opset() < 7 || graph.opset() >= 14;
  const bool trains =
      states_mode ? integer_of(proto, name, 0) != inference : other_outputs;
  if (!trains) return;
  if (states_mode) set_integer(proto, name, inference);
  warn("running_statistics", describe(proto),
       "training mode is ignored; the layer uses the running mean and variance "
       "of the file");
}

// Layers are in inference mode outside training.
void spell_dropout(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  bool trains = graph.opset() < 7 && integer_of(proto, "is_test", 0) == 0;
  if (trains) set_integer(proto, "is_test", 1);
  if (proto.input_size() > 2) {
    const OnnxConstant* mode = graph.constant(proto.input(2));
    trains = mode != nullptr && mode->value.dtype() == DType::boolean &&
             mode->value.size() == 1 &&
             std::as_const(mode->value).data<bool>()[0];
    if (trains) {
      onnx::NodeProto dropout = proto;
      dropout.mutable_input()->RemoveLast();
      graph.replace(node, dropout, {});
    }
  }
  if (!trains) return;
  warn("dropout_in_training", describe(node.proto),
       "training mode is ignored; the layer drops values in training only");
}

/// Returns a Slice of x in the form of the opset.
onnx::NodeProto slice_of(OnnxGraph& graph, const std::string& x,
                         const Integers& starts, const Integers& ends,
                         const Integers& axes, const std::string& output) {
  onnx::NodeProto slice = node_of("Slice", {x}, output);
  if (graph.opset() < 10) {
    set_integers(slice, "starts", starts);
    set_integers(slice, "ends", ends);
    set_integers(slice, "axes", axes);
    return slice;
  }
  slice.add_input(integers(graph, output + "/starts", starts));
  slice.add_input(integers(graph, output + "/ends", ends));
  slice.add_input(integers(graph, output + "/axes", axes));
  return slice;
}

/// Pads of a Pad for all axes.
struct PadEnds {
  Integers begin, end;
};

std::optional<PadEnds> pads_of(const OnnxGraph& graph,
                               const onnx::NodeProto& node) {
  const bool has_inputs = graph.opset() >= 11;
  const auto pads =
      has_inputs ? listed(graph, node, 1) : integers_of(node, "pads");
  if (!pads || pads->size() % 2 != 0 || pads->empty()) return {};
  const size_t count = pads->size() / 2;
  Integers axes(count);
  for (size_t i = 0; i < count; ++i) axes[i] = static_cast<int64_t>(i);
  int64_t rank = static_cast<int64_t>(count);
  if (has_inputs && node.input_size() > 3 && !node.input(3).empty()) {
    const auto given = listed(graph, node, 3);
    const auto dims = graph.stated(node.input(0));
    if (!given || !dims || given->size() != count) return {};
    axes = *given;
    rank = std::ssize(*dims);
  }
  PadEnds ends{Integers(static_cast<size_t>(rank)),
               Integers(static_cast<size_t>(rank))};
  for (size_t i = 0; i < count; ++i) {
    const int64_t axis = axes[i] < 0 ? axes[i] + rank : axes[i];
    if (axis < 0 || axis >= rank) return {};
    ends.begin[static_cast<size_t>(axis)] = (*pads)[i];
    ends.end[static_cast<size_t>(axis)] = (*pads)[i + count];
  }
  return ends;
}

/// Sets the pads of all axes in the form of the opset.
void set_pads(OnnxGraph& graph, onnx::NodeProto& node, const PadEnds& ends) {
  Integers pads = ends.begin;
  pads.insert(pads.end(), ends.end.begin(), ends.end.end());
  if (graph.opset() < 11) return set_integers(node, "pads", pads);
  node.set_input(1, integers(graph, node.input(1) + "/pads", pads));
  if (node.input_size() > 3) node.mutable_input()->RemoveLast();
}

std::optional<int64_t> rank_of(const OnnxGraph& graph,
                               const std::string& value) {
  if (const OnnxConstant* constant = graph.constant(value)) {
    return constant->value.shape().rank();
  }
  const auto dims = graph.stated(value);
  return dims ? std::optional<int64_t>(std::ssize(*dims)) : std::nullopt;
}

/// Appends `count` axes of size 1 to an input of a node.
void append_axes(OnnxGraph& graph, OnnxNode& node, int input, int64_t rank,
                 int64_t count) {
  const std::string x = node.proto.input(input);
  const std::string name = graph.unique_name(x + "/broadcast");
  Integers axes;
  for (int64_t i = 0; i < count; ++i) axes.push_back(rank + i);
  onnx::NodeProto unsqueeze = node_of("Unsqueeze", {x}, name);
  set_integers(unsqueeze, "axes", axes);
  graph.insert_before(node, unsqueeze);
  onnx::NodeProto by = node.proto;
  by.set_input(input, name);
  graph.replace(node, by, {});
}

// Before opset 7, `axis` aligns the second operand to an axis of the first.
void spell_broadcast(OnnxGraph& graph, OnnxNode& node) {
  if (graph.opset() >= 7 || node.proto.input_size() != 2) return;
  const auto first = rank_of(graph, node.proto.input(0));
  const auto second = rank_of(graph, node.proto.input(1));
  const auto* attribute = find_attribute(node.proto, "axis");
  if (attribute == nullptr || !first || !second) return;
  const int64_t axis = attribute->i() + (attribute->i() < 0 ? *first : 0);
  const int64_t missing = *first - axis - *second;
  if (axis < 0 || missing < 0) return;
  auto& attributes = *node.proto.mutable_attribute();
  attributes.erase(
      std::remove_if(attributes.begin(), attributes.end(),
                     [](const auto& a) { return a.name() == "axis"; }),
      attributes.end());
  if (missing > 0) append_axes(graph, node, 1, *second, missing);
}

// Before opset 7, a list of slopes has one for each channel.
void spell_prelu(OnnxGraph& graph, OnnxNode& node) {
  if (graph.opset() >= 7 || rank_of(graph, node.proto.input(1)) != 1) return;
  const auto rank = rank_of(graph, node.proto.input(0));
  if (rank && *rank > 2) append_axes(graph, node, 1, 1, *rank - 2);
}

// Negative pads become a Slice before the Pad, pads of both the channels and
// the pixels two Pads.
void spell_pad(OnnxGraph& graph, OnnxNode& node) {
  for (auto& attribute : *node.proto.mutable_attribute()) {
    if (attribute.name() == "paddings") attribute.set_name("pads");  // opset 1
  }
  auto ends = pads_of(graph, node.proto);
  if (!ends) return;
  const std::string y = node.proto.output(0);
  Integers starts, stops, axes;
  bool grows = false;
  for (size_t axis = 0; axis < ends->begin.size(); ++axis) {
    int64_t& begin = ends->begin[axis];
    int64_t& end = ends->end[axis];
    grows = grows || begin > 0 || end > 0;
    if (begin >= 0 && end >= 0) continue;
    starts.push_back(std::max<int64_t>(-begin, 0));
    stops.push_back(end < 0 ? end : std::numeric_limits<int64_t>::max());
    axes.push_back(static_cast<int64_t>(axis));
    begin = std::max<int64_t>(begin, 0);
    end = std::max<int64_t>(end, 0);
  }
  if (!axes.empty()) {
    const std::string x = node.proto.input(0);
    if (!grows) {
      graph.replace(node, slice_of(graph, x, starts, stops, axes, y), {});
      return;
    }
    const std::string cropped = graph.unique_name(y + "/cropped");
    graph.insert_before(node, slice_of(graph, x, starts, stops, axes, cropped));
    onnx::NodeProto pad = node.proto;
    pad.set_input(0, cropped);
    set_pads(graph, pad, *ends);
    graph.replace(node, pad, {});
  }
  const auto pads_axis = [&](size_t axis) {
    return ends->begin[axis] != 0 || ends->end[axis] != 0;
  };
  bool pixels = false;
  for (size_t axis = 2; axis < ends->begin.size(); ++axis) {
    pixels = pixels || pads_axis(axis);
  }
  if (ends->begin.size() < 3 || !pixels || !pads_axis(1) ||
      text_of(node.proto, "mode", "constant") != "constant") {
    return;
  }
  PadEnds channels = *ends;
  for (size_t axis = 0; axis < channels.begin.size(); ++axis) {
    (axis == 1 ? *ends : channels).begin[axis] = 0;
    (axis == 1 ? *ends : channels).end[axis] = 0;
  }
  onnx::NodeProto first = node.proto;
  onnx::NodeProto second = node.proto;
  const std::string padded = graph.unique_name(y + "/padded");
  first.set_output(0, padded);
  set_pads(graph, first, *ends);
  graph.insert_before(node, first);
  second.set_input(0, padded);
  set_pads(graph, second, channels);
  graph.replace(node, second, {});
}

// Without axes, all axes of size 1 are removed. The batch may have another
// size.
void spell_squeeze(OnnxGraph& graph, OnnxNode& node) {
  onnx::NodeProto& proto = node.proto;
  if (find_attribute(proto, "axes") != nullptr ||
      (proto.input_size() > 1 && !proto.input(1).empty())) {
    return;
  }
  const auto dims = graph.stated(proto.input(0));
  if (!dims) return;
  Integers axes;
  for (size_t axis = 0; axis < dims->size(); ++axis) {
    if ((*dims)[axis] < 0 && axis > 0) return;
    if ((*dims)[axis] == 1) axes.push_back(static_cast<int64_t>(axis));
  }
  onnx::NodeProto squeeze = proto;
  if (axes.empty()) {
    squeeze = node_of("Identity", {proto.input(0)}, "");
  } else if (graph.opset() < 13) {
    set_integers(squeeze, "axes", axes);
  } else {
    squeeze.clear_input();
    squeeze.add_input(proto.input(0));
    squeeze.add_input(integers(graph, proto.output(0) + "/axes", axes));
  }
  graph.replace(node, squeeze, {});
}

// Before opset 6, the type is a name.
void spell_cast(OnnxGraph&, OnnxNode& node) {
  const auto* to = find_attribute(node.proto, "to");
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  if (to == nullptr || to->type() != onnx::AttributeProto::STRING ||
      !onnx::TensorProto::DataType_Parse(to->s(), &type)) {
    return;
  }
  if (type == onnx::TensorProto::FLOAT16 || type == onnx::TensorProto::DOUBLE) {
    type = onnx::TensorProto::FLOAT;
  }
  set_integer(node.proto, "to", type);
}

/// Returns the name of a constant with the factors of an Upsample before opset
/// 9; "" for attributes that are missing.
std::string upsample_scales(OnnxGraph& graph, const onnx::NodeProto& node) {
  std::vector<float> scales;
  if (const auto* given = find_attribute(node, "scales")) {
    scales.assign(given->floats().begin(), given->floats().end());
  } else if (find_attribute(node, "height_scale") != nullptr) {
    scales = {1, 1, number_of(node, "height_scale", 1),
              number_of(node, "width_scale", 1)};
  }
  if (scales.empty()) return "";
  std::string name = graph.unique_name(node.output(0) + "/scales");
  graph.set_constant(name, {Tensor::of<float>({std::ssize(scales)},
                                              std::span<const float>(scales)),
                            {},
                            name});
  return name;
}

// Resize of opset 11 with the pixel positions of older ones. Source: ONNX
// Upsample-9 and Resize-10, x_original = x_resized / scale.
void spell_resize(OnnxGraph& graph, OnnxNode& node) {
  const onnx::NodeProto& old = node.proto;
  if (old.op_type() == "Resize" && graph.opset() >= 11) return;
  std::string scales =
      old.input_size() > 1 ? old.input(1) : upsample_scales(graph, old);
  if (scales.empty()) return;
  onnx::NodeProto resize =
      node_of("Resize", {old.input(0), "", std::move(scales)}, "");
  resize.set_name(old.name());
  const std::string mode = text_of(old, "mode", "nearest");
  set_text(resize, "mode", mode == "bilinear" ? "linear" : mode.c_str());
  set_text(resize, "coordinate_transformation_mode", "asymmetric");
  set_text(resize, "nearest_mode", "floor");
  graph.replace(node, resize, {});
}

}  // namespace

void use_common_spelling(OnnxGraph& graph, OnnxNode& node) {
  using Spelling = void (*)(OnnxGraph&, OnnxNode&);
  static const std::unordered_map<std::string_view, Spelling> kSpellings{
      {"Add", spell_broadcast},
      {"And", spell_broadcast},
      {"BatchNormalization", spell_batch_normalization},
      {"Cast", spell_cast},
      {"Div", spell_broadcast},
      {"Dropout", spell_dropout},
      {"Equal", spell_broadcast},
      {"Greater", spell_broadcast},
      {"Hardmax", spell_softmax},
      {"Less", spell_broadcast},
      {"LogSoftmax", spell_softmax},
      {"Mul", spell_broadcast},
      {"Or", spell_broadcast},
      {"PRelu", spell_prelu},
      {"Pad", spell_pad},
      {"Pow", spell_broadcast},
      {"Resize", spell_resize},
      {"Softmax", spell_softmax},
      {"Squeeze", spell_squeeze},
      {"Sub", spell_broadcast},
      {"Upsample", spell_resize},
      {"Xor", spell_broadcast},
  };
  if (!is_standard_domain(node.proto.domain())) return;
  const auto found = kSpellings.find(node.proto.op_type());
  if (found != kSpellings.end()) found->second(graph, node);
}

}  // namespace octet::io::importing
