// Pads of any axes.
#include <algorithm>
#include <limits>
#include <utility>

#include "../attributes.h"
#include "graph.h"
#include "spelling.h"

namespace octet::io::importing {
namespace {

/// Returns a node of the standard domain without attributes.
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
  slice.add_input(add_integers(graph, output + "/starts", starts));
  slice.add_input(add_integers(graph, output + "/ends", ends));
  slice.add_input(add_integers(graph, output + "/axes", axes));
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
  node.set_input(1, add_integers(graph, node.input(1) + "/pads", pads));
  if (node.input_size() > 3) node.mutable_input()->RemoveLast();
}

}  // namespace

std::string add_integers(OnnxGraph& graph, const std::string& name,
                         const Integers& values) {
  std::string unique = graph.unique_name(name);
  graph.set_constant(unique,
                     {Tensor::of<int64_t>({std::ssize(values)},
                                          std::span<const int64_t>(values)),
                      {},
                      unique});
  return unique;
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

}  // namespace octet::io::importing
