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

Transposes::Source Transposes::source_of(const std::string& value,
                                         const std::vector<int64_t>& perm,
                                         Merge merge) const {
  Source source{value, perm};
  for (auto found = sources_.find(value);
       found != sources_.end() &&
       (merge == Merge::all ||
        (merge == Merge::ports ? found->second.is_port
                               : !found->second.is_layer));
       found = sources_.find(source.value)) {
    for (int64_t& axis : source.perm) {
      axis = found->second.perm.at(static_cast<size_t>(axis));
    }
    source.value = found->second.value;
  }
  return source;
}

void drop_unused_transposes(onnx::GraphProto& graph) {
  std::unordered_set<std::string> consumed;
  for (const auto& output : graph.output()) consumed.insert(output.name());
  // In reverse order, so that unused chains are removed as a whole.
  auto& nodes = *graph.mutable_node();
  std::unordered_set<std::string> unused;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {
    if (node->op_type() == "Transpose" && !consumed.contains(node->output(0))) {
      unused.insert(node->name());
      continue;
    }
    consumed.insert(node->input().begin(), node->input().end());
  }
  nodes.erase(std::remove_if(nodes.begin(), nodes.end(),
                             [&](const onnx::NodeProto& node) {
                               return unused.contains(node.name());
                             }),
              nodes.end());
}

}  // namespace octet::io
