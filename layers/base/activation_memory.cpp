#include <algorithm>
#include <limits>
#include <unordered_map>

#include <octet/layers/detail/load_limits.h>

namespace octet {
namespace {

constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

int64_t bytes_of(const GraphNode& node) {
  if (node.shape.rank() == 0) return sizeof(float);
  const int64_t elements = node.shape.with(0, 1).size();
  constexpr auto kElement = static_cast<int64_t>(sizeof(float));
  return elements > kMost / kElement ? kMost : elements * kElement;
}

int64_t sum(int64_t a, int64_t b) { return a > kMost - b ? kMost : a + b; }

}  // namespace

ActivationMemory activation_memory(const Model& model) {
  std::unordered_map<const GraphNode*, int64_t> consumers;
  for (const auto& node : model.nodes()) {
    for (const SymbolicTensor& x : node->inputs) ++consumers[x.node.get()];
  }
  for (const SymbolicTensor& y : model.outputs()) ++consumers[y.node.get()];
  ActivationMemory memory;
  int64_t largest = -1;
  int64_t held = 0;
  for (const auto& node : model.nodes()) {
    const int64_t own = bytes_of(*node);
    if (own > largest) {
      largest = own;
      memory.largest = node.get();
    }
    held = sum(held, own);
    memory.bytes = std::max(memory.bytes, held);
    if (held == kMost) break;
    for (const SymbolicTensor& x : node->inputs) {
      if (--consumers[x.node.get()] == 0) held -= bytes_of(*x.node);
    }
  }
  return memory;
}

}  // namespace octet
