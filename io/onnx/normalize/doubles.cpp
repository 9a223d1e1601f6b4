// narrow_doubles(): float64 at the border of a graph that computes in other
// types.
#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "onnx/export/graph_passes.h"

namespace octet::io {
namespace {

using T = onnx::TensorProto;

bool is_cast(const OnnxNode& node) {
  const auto* to = find_attribute(node, "to");
  return is_op(node, "Cast") && to != nullptr &&
         to->type() == onnx::AttributeProto::INT;
}

bool is_shorter_float(int64_t type) {
  return type == T::FLOAT || type == T::FLOAT16 || type == T::BFLOAT16;
}

/// Whether float32 represents all values of a type.
bool is_exact_in_float32(int32_t type) {
  constexpr std::array kTypes = {T::FLOAT, T::FLOAT16, T::BFLOAT16, T::INT8,
                                 T::UINT8, T::INT16,   T::UINT16,   T::BOOL};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

bool is_narrow(const OnnxGraph& graph, const std::string& value) {
  if (graph.element_type(value) != T::DOUBLE ||
      graph.tensor(value) != nullptr) {
    return false;
  }
  const OnnxNode* producer = graph.producer(value);
  const bool exact =
      producer != nullptr && is_cast(*producer) &&
      is_exact_in_float32(graph.element_type(producer->input(0)));
  if (producer != nullptr && !exact) return false;
  return std::ranges::all_of(
      graph.consumers(value), [&](const OnnxNode* consumer) {
        return is_cast(*consumer) &&
               (exact || is_shorter_float(integer_of(*consumer, "to", 0)));
      });
}

}  // namespace

void narrow_doubles(OnnxGraph& graph) {
  std::unordered_set<std::string> narrow;
  for (const OnnxTensorInfo& input : graph.inputs()) {
    if (is_narrow(graph, input.name)) narrow.insert(input.name);
  }
  for (const OnnxNode& node : graph.nodes()) {
    for (const std::string& output : node.output()) {
      if (is_narrow(graph, output)) narrow.insert(output);
    }
  }
  for (OnnxNode& node : graph.nodes()) {
    if (node.output_size() == 1 && narrow.contains(node.output(0))) {
      set_integer(node.proto, "to", T::FLOAT);
    }
  }
  for (const std::string& value : narrow) {
    graph.set_element_type(value, T::FLOAT);
  }
}

}  // namespace octet::io
