// float16, bfloat16 and float64 inside a graph become float32, the type of all
// layers. Constants are converted when they are loaded.
#include <algorithm>
#include <array>
#include <string_view>

#include "../attributes.h"
#include "../proto_limits.h"
#include "../tensors.h"
#include "passes.h"

namespace octet::io::importing {
namespace {

bool is_other_float(int64_t type) {
  return type == onnx::TensorProto::FLOAT16 ||
         type == onnx::TensorProto::BFLOAT16 ||
         type == onnx::TensorProto::DOUBLE;
}

/// Converts CastLike to a Cast to the type of its second input.
void replace_cast_like(OnnxGraph& graph, OnnxNode& node) {
  const int32_t type = graph.element_type(node.proto.input(1));
  if (type == onnx::TensorProto::UNDEFINED) return;
  onnx::NodeProto cast;
  cast.set_op_type("Cast");
  cast.set_name(node.proto.name());
  cast.add_input(node.proto.input(0));
  auto& to = *cast.add_attribute();
  to.set_name("to");
  to.set_type(onnx::AttributeProto::INT);
  to.set_i(type);
  graph.replace(node, cast, {});
}

bool is_any_float(int64_t type) {
  return type == onnx::TensorProto::FLOAT || is_other_float(type);
}

/// Replaces a Cast between float types by an Identity.
void replace_cast(OnnxGraph& graph, OnnxNode& node) {
  if (!is_any_float(integer_of(node.proto, "to", 0)) ||
      !is_any_float(graph.element_type(node.proto.input(0)))) {
    return;
  }
  onnx::NodeProto identity;
  identity.set_op_type("Identity");
  identity.set_name(node.proto.name());
  identity.add_input(node.proto.input(0));
  graph.replace(node, identity, {});
}

}  // namespace

void use_float32(OnnxGraph& graph, OnnxNode& node) {
  if (!is_standard_domain(node.proto.domain())) return;
  if (node.proto.op_type() == "CastLike") replace_cast_like(graph, node);
  if (node.proto.op_type() == "Cast") replace_cast(graph, node);
  constexpr std::array<std::string_view, 4> kTypes{"to", "dtype",
                                                   "output_dtype", "precision"};
  for (auto& attribute : *node.proto.mutable_attribute()) {
    const bool names_type =
        std::ranges::find(kTypes, attribute.name()) != kTypes.end();
    if (names_type && is_other_float(attribute.i())) {
      attribute.set_i(onnx::TensorProto::FLOAT);
    }
    if (attribute.has_t() &&
        attribute.t().data_type() == onnx::TensorProto::DOUBLE) {
      *attribute.mutable_t() = as_float32(attribute.t());
    }
  }
}

}  // namespace octet::io::importing
