// float16, bfloat16 and float64 inside a graph become float32, the type of all
// layers. Constants are converted when they are loaded.
#include "fold.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/graph/tensors.h"
#include "passes.h"
#include "spelling.h"

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
  onnx::NodeProto cast = node_of("Cast", {node.proto.input(0)}, "");
  cast.set_name(node.proto.name());
  set_integer(cast, "to", type);
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
  onnx::NodeProto identity = node_of("Identity", {node.proto.input(0)}, "");
  identity.set_name(node.proto.name());
  graph.replace(node, identity, {});
}

}  // namespace

void use_float32(OnnxGraph& graph, OnnxNode& node) {
  if (!is_standard_domain(node.proto.domain())) return;
  if (node.proto.op_type() == "CastLike") replace_cast_like(graph, node);
  if (node.proto.op_type() == "Cast") replace_cast(graph, node);
  for (auto& attribute : *node.proto.mutable_attribute()) {
    const bool names_type =
        is_one_of(attribute.name(), "to dtype output_dtype precision");
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
