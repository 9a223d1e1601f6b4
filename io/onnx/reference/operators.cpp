#include "operators.h"

#include <string>
#include <string_view>
#include <unordered_map>

#include <fmt/format.h>

#include "onnx/check/proto_limits.h"

namespace octet::io::run {
namespace {

using Table = std::unordered_map<std::string_view, Operator>;

Table all_operators() {
  Table all{{"Einsum", einsum},
            {"GridSample", grid_sample},
            {"Pad", pad},
            {"Resize", resize}};
  for (const Operators operators :
       {arithmetic_operators(), convolution_operators(), indexing_operators(),
        logic_operators(), matrix_operators(), movement_operators(),
        pooling_operators(), quantization_operators(), recurrent_operators(),
        reduction_operators(), shape_operators(), unary_operators()}) {
    for (const auto& [name, run] : operators) all.emplace(name, run);
  }
  return all;
}

Operator find_primitive(const onnx::NodeProto& node) {
  static const Table kAll = all_operators();
  const auto found = is_standard_domain(node.domain())
                         ? kAll.find(node.op_type())
                         : kAll.find(node.domain() + "." + node.op_type());
  return found == kAll.end() ? nullptr : found->second;
}

Values run_operator(const NodeContext& context) {
  const auto* found = formula::find_formula(context.node(), context.opset(),
                                            formula::Use::reference);
  if (found != nullptr) {
    Values outputs = run_formula(context, *found);
    if (!outputs.empty()) return outputs;
  }
  const Operator primitive = find_primitive(context.node());
  if (primitive == nullptr) {
    context.unsupported(
        fmt::format("is not supported in opset {}", context.opset()));
  }
  return primitive(context);
}

}  // namespace

Operator find_operator(const onnx::NodeProto& node) {
  return formula::find_formula(node, kFirstOpset, formula::Use::reference) !=
                 nullptr
             ? run_operator
             : find_primitive(node);
}

}  // namespace octet::io::run
