#include "transposes.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

namespace octet::io {

bool Transposes::Source::is_identity() const {
  for (size_t i = 0; i < perm.size(); ++i) {
    if (perm[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

Transposes::Source Transposes::source_of(
    const std::string& value, const std::vector<int64_t>& perm) const {
  const auto found = sources_.find(value);
  if (found == sources_.end()) return {value, perm};
  Source source{found->second.value, {}};
  for (const int64_t axis : perm) {
    source.perm.push_back(found->second.perm.at(static_cast<size_t>(axis)));
  }
  return source;
}

void drop_unused_transposes(onnx::GraphProto& graph) {
  std::unordered_set<std::string> consumed;
  for (const auto& output : graph.output()) consumed.insert(output.name());
  for (const auto& node : graph.node()) {
    consumed.insert(node.input().begin(), node.input().end());
  }
  // One reads the source of another: none is unused because of another one.
  auto& nodes = *graph.mutable_node();
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const onnx::NodeProto& node) {
                               return node.op_type() == "Transpose" &&
                                      !consumed.contains(node.output(0));
                             }),
              nodes.end());
}

}  // namespace octet::io
