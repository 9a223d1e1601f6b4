// Findings for graphs that onnx::checker rejects or Octet does not support.
#include <string_view>
#include <unordered_map>

#include "onnx/check/proto_limits.h"
#include "onnx/check/schemas.h"
#include "onnx/graph/opsets.h"
#include "onnx/graph/qdq.h"
#include "onnx/graph/tensors.h"
#include "rules.h"

namespace octet::io::lint {
namespace {

bool is_int4(int32_t type) { return type == kUint4 || type == kInt4; }

using Constants =
    std::unordered_map<std::string_view, const onnx::TensorProto*>;

void check_int4(const Constants& constants, const onnx::NodeProto& node,
                Findings& findings) {
  for (const auto& input : node.input()) {
    const auto found = constants.find(input);
    if (found == constants.end() || !is_int4(found->second->data_type())) {
      continue;
    }
    const onnx::TensorProto& tensor = *found->second;
    if (is_quantize(node)) {
      if (!constants.contains(node.input(0))) {
        findings.add("E15", node,
                     "quantize activations to int8; int4 is for weights",
                     "an activation is quantized to int4");
      }
    } else if (is_dequantize(node) && input == node.input(0)) {
      const int rank = tensor.dims_size();
      if (rank == 0 || tensor.dims(rank - 1) % 2 != 0) {
        findings.add("E15", node, "pad the last axis to an even size",
                     "'{}' is int4 {} with an odd last axis", input,
                     dims_text(tensor));
      }
    } else if (findings.target() == Target::tensorrt8) {
      continue;
    }
    if (findings.target() == Target::tensorrt8) {
      findings.add("E15", node, "store int8, or build with TensorRT 10",
                   "'{}' is int4, which TensorRT 8 does not support", input);
    }
  }
  const int64_t block = integer_of(node, "block_size", 0);
  if (block == 0 || (block >= 16 && block <= 128) || !findings.tensorrt()) {
    return;
  }
  findings.add("E15", node, "use blocks of 16 to 128, which TensorRT fuses",
               "blocks of {} elements share a scale", block);
}

}  // namespace

void check_as_stored(const onnx::ModelProto& model, Findings& findings) {
  int64_t opset = 0;
  for (const auto& import : model.opset_import()) {
    if (is_standard_domain(import.domain())) opset = import.version();
  }
  Constants constants;
  for (const auto& tensor : model.graph().initializer()) {
    constants.emplace(tensor.name(), &tensor);
  }
  for (const auto& node : model.graph().node()) {
    if (!is_quantize(node) && !is_dequantize(node)) continue;
    if (node.input_size() < 2 || node.input(0).empty() ||
        node.input(1).empty()) {
      findings.add("E01", node,
                   "add the tensor, its scale and its zero point as inputs",
                   "no scale");
    }
    if (is_standard_domain(node.domain()) && opset < 10) {
      findings.add("E13", node, "export with opset 13", "opset {} has no {}",
                   opset, node.op_type());
    } else if (is_standard_domain(node.domain()) && opset < 13 &&
               find_attribute(node, "axis") != nullptr) {
      findings.add("E13", node, "export with opset 13",
                   "opset {} has no axis; scales per channel need opset 13",
                   opset);
    }
    check_int4(constants, node, findings);
  }
}

}  // namespace octet::io::lint
