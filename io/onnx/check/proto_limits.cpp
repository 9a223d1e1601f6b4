#include "proto_limits.h"

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "onnx/graph/opsets.h"
#include "onnx/graph/tensors.h"

namespace octet::io {
namespace {

constexpr int64_t kLargest = std::numeric_limits<int32_t>::max();

void check_type(const onnx::TypeProto& type, const std::string& what) {
  if (type.has_tensor_type()) {
    check_type_number(type.tensor_type().elem_type(), what);
    for (const auto& dim : type.tensor_type().shape().dim()) {
      // Inference with automatic padding loops over the size.
      if (dim.has_dim_value() &&
          (dim.dim_value() < 0 || dim.dim_value() > kLargest)) {
        throw FormatError("invalid_graph", what,
                          fmt::format("dimensions must be from 0 to {}, got {}",
                                      kLargest, to_string(shape_of(type))));
      }
    }
  } else if (type.has_sequence_type()) {
    check_type(type.sequence_type().elem_type(), what);
  } else if (type.has_optional_type()) {
    check_type(type.optional_type().elem_type(), what);
  } else if (type.has_map_type()) {
    check_type(type.map_type().value_type(), what);
  }
}

void check_sparse(const onnx::SparseTensorProto& tensor,
                  const std::string& what) {
  check_tensor(tensor.values(), what);
  check_tensor(tensor.indices(), what);
  for (const int64_t dim : tensor.dims()) {
    if (dim < 0) {
      throw FormatError("invalid_graph", what,
                        fmt::format("dimensions must be >= 0, got {}", dim));
    }
  }
}

// Smallest value of an integer attribute. Shape inference divides by some of
// them.
struct Bound {
  std::string_view attribute;
  int64_t smallest;
};
constexpr Bound kBounds[] = {
    {"strides", 1},        {"dilations", 1},    {"kernel_shape", 1},
    {"group", 1},          {"blocksize", 1},    {"pads", 0},
    {"output_padding", 0}, {"pooled_shape", 1}, {"batch_dims", 0},
};

void check_attribute_range(const onnx::NodeProto& node,
                           const onnx::AttributeProto& attribute) {
  // Negative pads of Pad crop.
  if (node.op_type() == "Pad") return;
  for (const Bound& bound : kBounds) {
    if (bound.attribute != attribute.name()) continue;
    const auto check = [&](int64_t value) {
      if (value >= bound.smallest && value <= kLargest) return;
      throw FormatError(
          "invalid_graph", describe(node),
          fmt::format("{} must be from {} to {}, got {}", bound.attribute,
                      bound.smallest, kLargest, value));
    };
    for (const int64_t value : attribute.ints()) check(value);
    if (attribute.has_i()) check(attribute.i());
  }
}

void check_graph(const onnx::GraphProto& graph);

void check_attribute(const onnx::NodeProto& node,
                     const onnx::AttributeProto& attribute) {
  check_attribute_range(node, attribute);
  for (const char* name : {"to", "dtype", "output_dtype"}) {
    if (attribute.name() != name) continue;
    if (attribute.i() == kFloat8E4M3FN && node.op_type() != "QuantizeLinear") {
      throw UnsupportedError("unsupported_type", describe(node),
                             "only QuantizeLinear may produce float8e4m3fn");
    }
    check_type_number(attribute.i(), describe(node));
  }
  const std::string what = fmt::format("{}, attribute '{}'", describe(node),
                                       printable(attribute.name()));
  if (!attribute.ref_attr_name().empty()) {
    throw FormatError("invalid_graph", what,
                      "must have a value, got a reference to an attribute of "
                      "a function");
  }
  if (attribute.has_t()) check_tensor(attribute.t(), what);
  for (const auto& tensor : attribute.tensors()) check_tensor(tensor, what);
  if (attribute.has_sparse_tensor()) {
    check_sparse(attribute.sparse_tensor(), what);
  }
  for (const auto& tensor : attribute.sparse_tensors()) {
    check_sparse(tensor, what);
  }
  if (attribute.has_tp()) check_type(attribute.tp(), what);
  for (const auto& type : attribute.type_protos()) check_type(type, what);
  // protobuf bounds the depth: it parses at most 100 levels.
  if (attribute.has_g()) check_graph(attribute.g());
  for (const auto& graph : attribute.graphs()) check_graph(graph);
}

void check_graph(const onnx::GraphProto& graph) {
  if (graph.output_size() == 0) {
    throw FormatError("invalid_graph",
                      fmt::format("graph '{}'", printable(graph.name())),
                      "must have outputs, got none");
  }
  for (const auto& tensor : graph.initializer()) {
    check_tensor(tensor,
                 fmt::format("initializer '{}'", printable(tensor.name())));
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    check_sparse(tensor, fmt::format("initializer '{}'",
                                     printable(tensor.values().name())));
  }
  for (const auto* values : {&graph.input(), &graph.output()}) {
    for (const auto& value : *values) {
      if (value.type().tensor_type().elem_type() != kFloat8E4M3FN) continue;
      throw UnsupportedError("unsupported_type",
                             fmt::format("value '{}'", printable(value.name())),
                             "inputs and outputs must not be float8e4m3fn");
    }
  }
  for (const auto* values :
       {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) {
      check_type(value.type(),
                 fmt::format("value '{}'", printable(value.name())));
    }
  }
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      check_attribute(node, attribute);
    }
  }
}

void check_ir_version(const onnx::ModelProto& model) {
  const int64_t version = model.ir_version();
  if (version >= kFirstIrVersion && version <= kLastIrVersion) return;
  if (version > kLastIrVersion) {
    throw UnsupportedError(
        "unsupported_version", "ONNX model",
        fmt::format("IR version must be at most {}, got {}. Hint: save the "
                    "model with ir_version={}",
                    kLastIrVersion, version, kLastIrVersion));
  }
  throw FormatError("unsupported_version", "ONNX model",
                    fmt::format("IR version must be at least {}, got {}",
                                kFirstIrVersion, version));
}

}  // namespace

bool is_standard_domain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

std::string describe(const onnx::NodeProto& node) {
  const std::string& name = node.name().empty() && node.output_size() > 0
                                ? node.output(0)
                                : node.name();
  return fmt::format("node '{}' ({})", printable(name),
                     printable(node.op_type()));
}

int64_t opset_of(const onnx::ModelProto& model) {
  int64_t opset = 0;
  int found = 0;
  for (const auto& import : model.opset_import()) {
    if (!is_standard_domain(import.domain())) continue;
    opset = import.version();
    ++found;
  }
  // Models of other domains need no opset of ai.onnx.
  if (found == 0 && model.opset_import_size() > 0) return kFirstOpset;
  if (found != 1) {
    throw FormatError(
        "invalid_graph", "ONNX model",
        fmt::format("must import one opset of ai.onnx, got {}", found));
  }
  if (opset >= kFirstOpset && opset <= kLastOpset) return opset;
  if (opset > kLastOpset) {
    throw UnsupportedError(
        "unsupported_version", "ONNX model",
        fmt::format("opset must be at most {}, got {}. Hint: export or convert "
                    "the model for an older opset",
                    kLastOpset, opset));
  }
  throw FormatError(
      "unsupported_version", "ONNX model",
      fmt::format("opset must be at least {}, got {}", kFirstOpset, opset));
}

void check_bounds(const onnx::ModelProto& model) {
  check_ir_version(model);
  opset_of(model);
  if (!model.has_graph()) {
    throw FormatError("invalid_graph", "ONNX model",
                      "must have a graph, got none");
  }
  // Callers set the attributes of a function's nodes, unchecked.
  if (model.functions_size() > 0) {
    throw FormatError("invalid_graph", "ONNX model",
                      fmt::format("model-local functions are not supported, "
                                  "got {}. Hint: inline them first",
                                  model.functions_size()));
  }
  check_graph(model.graph());
}

}  // namespace octet::io
