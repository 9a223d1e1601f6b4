#include "layer_names.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>

#include <octet/quant/detail/counterpart.h>

namespace octet::io::importing {
namespace {

bool is_pair_part(const OnnxNode& node) {
  return is_op(node, "QuantizeLinear") || is_op(node, "DequantizeLinear");
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

bool is_given_name(std::string_view value) {
  const bool digits = std::ranges::all_of(
      value, [](unsigned char c) { return std::isdigit(c) != 0; });
  return !digits && value.find("_output_") == std::string_view::npos &&
         value.find("::") == std::string_view::npos &&
         !value.starts_with("Identity");
}

bool has_pairs(OnnxGraph& graph) {
  return std::ranges::any_of(graph.nodes(), is_pair_part);
}

void leave_out_prefixes(OnnxGraph& graph) {
  std::set<std::string> names;
  for (const OnnxNode& node : graph.nodes()) {
    if (!node.gone) names.insert(node.name);
  }
  for (OnnxNode& node : graph.nodes()) {
    const std::string plain(quant::float_name(node.name));
    if (node.gone || is_pair_part(node) || names.contains(plain)) continue;
    names.insert(plain);
    node.name = plain;
  }
}

}  // namespace octet::io::importing
