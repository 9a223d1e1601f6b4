// Small Q/DQ graphs for the tests of lint: each violates at most one rule.
#pragma once

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <octet/io/lint.h>

#include "onnx_models.h"

namespace octet::io {

/// Opset and IR version of a graph.
inline onnx::ModelProto with_opset(onnx::ModelProto model, int64_t opset) {
  model.mutable_opset_import(0)->set_version(opset);
  model.set_ir_version(opset < 15 ? 7 : opset < 19 ? 8 : 9);
  return model;
}

/// Returns a graph with operands for its pairs: scales s0 = 0.02, s1 = 0.05, s4
/// of four channels, s8 of eight; zero points z0, z4, z8; weights w [4,3,3,3],
/// v [4,4,3,3], u [8,4], b [4] of noise.
inline onnx::ModelProto lint_model(const std::string& ends,
                                   const std::string& nodes,
                                   int64_t opset = 13) {
  onnx::ModelProto model = with_opset(graph_model(ends, nodes), opset);
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("s0", {}, {0.02f});
  *graph.add_initializer() = float_tensor("s1", {}, {0.05f});
  *graph.add_initializer() = int8_tensor("z0", {}, {0});
  *graph.add_initializer() =
      float_tensor("s4", {4}, {0.01f, 0.011f, 0.012f, 0.013f});
  *graph.add_initializer() = int8_tensor("z4", {4}, {0, 0, 0, 0});
  *graph.add_initializer() =
      float_tensor("s8", {8}, std::vector<float>(8, 0.01f));
  *graph.add_initializer() = int8_tensor("z8", {8}, std::vector<int32_t>(8, 0));
  add_noise(model, "w", {4, 3, 3, 3});
  add_noise(model, "v", {4, 4, 3, 3});
  add_noise(model, "u", {8, 4});
  add_noise(model, "b", {4});
  return model;
}

/// Returns the nodes of a pair: `to` is the quantized `from`.
inline std::string pair(const std::string& from, const std::string& to,
                        const std::string& scale = "s0",
                        const std::string& zero = "z0",
                        const std::string& attributes = "") {
  return to + "_q = QuantizeLinear " + attributes + " (" + from + ", " + scale +
         ", " + zero + ")\n" + to + " = DequantizeLinear " + attributes + " (" +
         to + "_q, " + scale + ", " + zero + ")\n";
}

/// Q and DQ of the weights w, v and u, as wd, vd and ud.
inline std::string weight_pairs(const std::string& names) {
  std::string text;
  for (const char name : names) {
    const std::string weight(1, name);
    text += pair(weight, weight + "d", name == 'u' ? "s8" : "s4",
                 name == 'u' ? "z8" : "z4", "<axis = 0>");
  }
  return text;
}

inline const std::string kPads = "<pads = [1,1,1,1]>";

inline LintReport lint_of(const onnx::ModelProto& model,
                          Target target = Target::tensorrt10) {
  return lint_onnx_bytes(model.SerializeAsString(), {.target = target});
}

inline std::set<std::string> ids_of(const LintReport& report,
                                    LintSeverity least = LintSeverity::info) {
  std::set<std::string> ids;
  for (const LintFinding& finding : report.findings) {
    if (finding.severity >= least) ids.insert(finding.id);
  }
  return ids;
}

inline LintFinding finding_of(const LintReport& report, const std::string& id) {
  const auto found = std::ranges::find(report.findings, id, &LintFinding::id);
  return found == report.findings.end() ? LintFinding() : *found;
}

}  // namespace octet::io
