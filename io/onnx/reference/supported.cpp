#include "supported.h"

#include <map>
#include <string>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "constants.h"
#include "control_flow.h"
#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

constexpr int64_t kFirstOpsetOfScan = 9;  // in its present form

// What is missing, and the first place that requires it.
using Missing = std::map<std::string, std::string>;

std::string text_of(const Missing& missing) {
  std::string text;
  for (const auto& [what, where] : missing) {
    text += fmt::format("{}{} ({})", text.empty() ? "" : ", ", what, where);
  }
  return text;
}

bool is_run(const onnx::NodeProto& node, int64_t opset) {
  if (!subgraphs_of(node).empty())
    return opset >= kFirstOpsetOfScan || node.op_type() != "Scan";
  if (!is_known(node, opset)) return false;
  if (is_standard_domain(node.domain()) && node.op_type() == "Constant") {
    return has_constant(node);
  }
  return find_operator(node) != nullptr;
}

/// Calls body(graph) for the subgraphs of all nodes.
template <class Body>
void for_each_branch(const onnx::GraphProto& graph, const Body& body) {
  for (const auto& node : graph.node()) {
    for (const auto& attribute : node.attribute()) {
      if (attribute.has_g()) body(attribute.g());
    }
  }
}

Missing missing_operators(const onnx::GraphProto& graph, int64_t opset) {
  Missing missing;
  for (const auto& node : graph.node()) {
    if (is_run(node, opset)) continue;
    std::string name = node.op_type();
    if (!is_standard_domain(node.domain())) {
      name = fmt::format("{}.{}", node.domain(), name);
    }
    const std::string& where = node.name().empty() && node.output_size() > 0
                                   ? node.output(0)
                                   : node.name();
    missing.emplace(printable(name),
                    fmt::format("node '{}'", printable(where)));
  }
  for_each_branch(graph, [&](const onnx::GraphProto& branch) {
    missing.merge(missing_operators(branch, opset));
  });
  return missing;
}

Missing missing_types(const onnx::GraphProto& graph) {
  Missing missing;
  const auto need = [&](int32_t type, const std::string& name) {
    if (dtype_of(type)) return;
    missing.emplace(io::type_name(type),
                    fmt::format("value '{}'", printable(name)));
  };
  for (const auto* values :
       {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *values) {
      if (value.type().has_tensor_type()) {
        need(value.type().tensor_type().elem_type(), value.name());
      } else if (value.type().value_case() != onnx::TypeProto::VALUE_NOT_SET) {
        missing.emplace("no tensor",
                        fmt::format("value '{}'", printable(value.name())));
      }
    }
  }
  for (const auto& tensor : graph.initializer()) {
    need(tensor.data_type(), tensor.name());
  }
  for (const auto& tensor : graph.sparse_initializer()) {
    missing.emplace(
        "a sparse tensor",
        fmt::format("value '{}'", printable(tensor.values().name())));
  }
  for_each_branch(graph, [&](const onnx::GraphProto& branch) {
    missing.merge(missing_types(branch));
  });
  return missing;
}

}  // namespace

void check_supported(const onnx::GraphProto& graph, int64_t opset) {
  const Missing operators = missing_operators(graph, opset);
  const Missing types = missing_types(graph);
  if (operators.empty() && types.empty()) return;
  const std::string type_problem = fmt::format(
      "values must be float32, float16, bfloat16, int8, uint8, int32, int64 or "
      "bool, got {}",
      text_of(types));
  if (operators.empty()) {
    throw UnsupportedError("unsupported_type", "ONNX model", type_problem);
  }
  throw UnsupportedError(
      "unsupported_operator", "ONNX model",
      fmt::format("operators are not supported: {}{}", text_of(operators),
                  types.empty() ? "" : "; " + type_problem));
}

}  // namespace octet::io::run
