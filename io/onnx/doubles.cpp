#include "doubles.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_set>

#include "graph_view.h"
#include "proto_limits.h"

namespace octet::io {
namespace {

using T = onnx::TensorProto;

bool is_cast(const onnx::NodeProto& node) {
  const auto* to = find_attribute(node, "to");
  return is_standard_domain(node.domain()) && node.op_type() == "Cast" &&
         to != nullptr && to->type() == onnx::AttributeProto::INT;
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

bool is_narrow(const GraphView& view, const std::string& value) {
  if (view.element_type(value) != T::DOUBLE ||
      view.constant(value) != nullptr) {
    return false;
  }
  const onnx::NodeProto* producer = view.producer(value);
  const bool exact = producer != nullptr && is_cast(*producer) &&
                     is_exact_in_float32(view.element_type(producer->input(0)));
  if (producer != nullptr && !exact) return false;
  return std::ranges::all_of(
      view.consumers(value), [&](const onnx::NodeProto* consumer) {
        return is_cast(*consumer) &&
               (exact ||
                is_shorter_float(find_attribute(*consumer, "to")->i()));
      });
}

}  // namespace

void narrow_doubles(onnx::GraphProto& graph) {
  std::unordered_set<std::string> narrow;
  {
    const GraphView view(graph);
    const auto look_at = [&](const std::string& value) {
      if (is_narrow(view, value)) narrow.insert(value);
    };
    for (const auto& input : graph.input()) look_at(input.name());
    for (const auto& node : graph.node()) {
      for (const std::string& output : node.output()) look_at(output);
    }
  }
  for (auto& node : *graph.mutable_node()) {
    if (node.output_size() != 1 || !narrow.contains(node.output(0))) continue;
    for (auto& attribute : *node.mutable_attribute()) {
      if (attribute.name() == "to") attribute.set_i(T::FLOAT);
    }
  }
  for (auto* values : {graph.mutable_input(), graph.mutable_output(),
                       graph.mutable_value_info()}) {
    for (auto& value : *values) {
      if (!narrow.contains(value.name())) continue;
      value.mutable_type()->mutable_tensor_type()->set_elem_type(T::FLOAT);
    }
  }
}

}  // namespace octet::io
