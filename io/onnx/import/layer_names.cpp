#include "layer_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <octet/quant/counterpart.h>
#include <octet/runtime/printable.h>

namespace octet::io::importing {
namespace {

bool is_pair_part(const ImportNode& node) {
  return is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear");
}

// What exporters call a value that nobody named: "12", "/head/Gemm_output_0".
bool is_nobodys(std::string_view name) {
  return name.find("_output_") != std::string_view::npos ||
         name.starts_with("Identity") ||
         std::ranges::all_of(
             name, [](unsigned char c) { return std::isdigit(c) != 0; });
}

// Q/DQ pairs become wrappers, whose names have the prefix by themselves.
void leave_out_prefixes(ImportGraph& graph) {
  std::vector<ImportNode>& nodes = graph.nodes();
  const bool quantized = std::ranges::any_of(nodes, is_pair_part);
  if (!quantized) return;
  std::set<std::string> names;
  for (const ImportNode& node : nodes) names.insert(node.name);
  for (ImportNode& node : nodes) {
    const std::string plain(quant::float_name(node.name));
    if (is_pair_part(node) || names.contains(plain)) continue;
    names.insert(plain);
    node.name = plain;
  }
}

// Losses and labels go by the names of outputs where there are several.
void name_by_outputs(ImportGraph& graph) {
  if (graph.outputs().size() < 2) return;
  for (const OnnxTensorInfo& output : graph.outputs()) {
    ImportNode* maker = graph.maker(output.name);
    if (maker == nullptr || is_pair_part(*maker) || is_nobodys(output.name)) {
      continue;
    }
    maker->name = printable(output.name, 200);
  }
}

}  // namespace

std::string layer_name_of(const std::string& name) {
  std::string result;
  for (size_t from = 0; from <= name.size();) {
    const size_t to = std::min(name.find('/', from), name.size());
    const std::string part = name.substr(from, to - from);
    from = to + 1;
    if (part.empty() || part == "." || part == "..") continue;
    result += (result.empty() ? "" : "/") + part;
  }
  return result.empty() ? "layer" : result;
}

void name_layers(ImportGraph& graph) {
  leave_out_prefixes(graph);
  name_by_outputs(graph);
}

}  // namespace octet::io::importing
