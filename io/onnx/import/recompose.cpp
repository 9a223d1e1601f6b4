// Replaces the nodes of matched patterns by their operator.
#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "onnx/graph/attributes.h"
#include "pattern.h"

namespace octet::io::importing {
namespace {

/// Adds the operators that can be the last node of a term.
void add_roots(const pattern::Term& term, std::set<std::string>& roots) {
  using Kind = pattern::Term::Kind;
  switch (term.kind) {
    case Kind::node:
      roots.insert(term.name);
      return;
    case Kind::sum:
      roots.insert({"Add", "Sub"});
      return;
    case Kind::product:
      roots.insert({"Div", "Mul"});
      return;
    case Kind::either:
      for (const auto& each : term.operands()) add_roots(each, roots);
      return;
    default:
      return;
  }
}

using Rows = std::vector<const Pattern*>;

/// Returns the rows by the operator of their last node, in the table's order.
const std::unordered_map<std::string, Rows>& rows_by_root() {
  static const std::unordered_map<std::string, Rows> kRows = [] {
    std::unordered_map<std::string, Rows> rows;
    for (const Pattern& pattern : patterns()) {
      std::set<std::string> roots;
      add_roots(pattern.term, roots);
      for (const std::string& root : roots) rows[root].push_back(&pattern);
    }
    return rows;
  }();
  return kRows;
}

onnx::NodeProto node_of(const Pattern& pattern, const PatternMatch& m) {
  const std::string_view result = pattern.result;
  size_t end = result.find('(');
  const std::string op(result.substr(0, end));
  onnx::NodeProto node;
  if (const OnnxNode* same = m.part(op.c_str())) node = same->proto;
  node.clear_input();
  node.set_op_type(op);
  if (node.name().empty()) node.set_name(m.parts.front()->proto.name());
  while (result[end] != ')') {
    const size_t begin = end + 1;
    end = result.find_first_of(",)", begin);
    node.add_input(m.value(result.substr(begin, end - begin)));
  }
  while (node.input_size() > 0 && node.input(node.input_size() - 1).empty()) {
    node.mutable_input()->RemoveLast();
  }
  for (const auto& [name, value] : m.scalars) {
    set_number(node, std::string(name).c_str(), value);
  }
  return node;
}

bool replace_by(const Pattern& pattern, OnnxGraph& graph, OnnxNode& anchor,
                PatternMatcher& matcher) {
  return matcher.find(pattern.term, anchor, [&](const PatternMatch& m) {
    onnx::NodeProto node = node_of(pattern, m);
    if (pattern.accept != nullptr && !pattern.accept(graph, m, node)) {
      return false;
    }
    std::vector<OnnxNode> originals;
    if (node.op_type() == kAttention) {
      std::vector<OnnxNode*> parts = m.parts;
      std::ranges::sort(parts, {}, &OnnxNode::position);
      for (const OnnxNode* part : parts) originals.push_back(*part);
    }
    graph.replace(anchor, node, {m.parts.begin() + 1, m.parts.end()});
    anchor.parts = std::move(originals);
    return true;
  });
}

/// Returns whether a row matches.
bool recompose_node(OnnxGraph& graph, OnnxNode& node, bool last,
                    PatternMatcher& matcher) {
  const auto rows = rows_by_root().find(node.proto.op_type());
  return rows != rows_by_root().end() &&
         std::ranges::any_of(rows->second, [&](const Pattern* pattern) {
           return pattern->last == last &&
                  replace_by(*pattern, graph, node, matcher);
         });
}

}  // namespace

// Visits nodes in graph order, so that parts that are patterns themselves are
// replaced first.
int64_t recompose(OnnxGraph& graph) {
  // Before opset 7, binary operators broadcast along an `axis` attribute, which
  // patterns do not check.
  if (graph.opset() < 7) return 0;
  PatternMatcher matcher(graph);
  for (const bool last : {false, true}) {
    for (OnnxNode& node : graph.nodes()) {
      while (!node.gone && recompose_node(graph, node, last, matcher)) {
      }
    }
  }
  return matcher.steps();
}

}  // namespace octet::io::importing
