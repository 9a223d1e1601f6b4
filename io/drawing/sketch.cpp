#include "sketch.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <tuple>

namespace octet::io {
namespace {

constexpr size_t kNone = static_cast<size_t>(-1);

std::vector<std::vector<size_t>> readers_of(const Sketch& sketch) {
  std::vector<std::vector<size_t>> consumers(sketch.nodes.size());
  for (size_t i = 0; i < sketch.nodes.size(); ++i) {
    for (const SketchNode::Read& read : sketch.nodes[i].reads) {
      consumers[read.from].push_back(i);
    }
  }
  return consumers;
}

/// Whether all but the last node are consumed within the group alone, and
/// without Q/DQ. Then no path leads out of the group and back.
bool is_closed(const std::vector<size_t>& group, const Sketch& sketch,
               const std::vector<std::vector<size_t>>& consumers) {
  const auto has = [&](size_t node) {
    return std::ranges::find(group, node) != group.end();
  };
  for (const size_t node : group) {
    if (node != group.back() && (consumers[node].empty() ||
                                 !std::ranges::all_of(consumers[node], has))) {
      return false;
    }
    for (const SketchNode::Read& read : sketch.nodes[node].reads) {
      if (has(read.from) && !read.pair.empty()) return false;
    }
  }
  return true;
}

/// Returns the first node of each node's box.
std::vector<size_t> heads_of(const Sketch& sketch, bool fuse) {
  std::vector<size_t> heads(sketch.nodes.size());
  std::iota(heads.begin(), heads.end(), size_t{0});
  if (!fuse) return heads;
  const auto consumers = readers_of(sketch);
  std::vector<bool> taken(heads.size());
  for (const SketchKernel& kernel : sketch.kernels) {
    std::vector<size_t> group = kernel.nodes;
    while (group.size() > 1 && !is_closed(group, sketch, consumers)) {
      group.pop_back();
    }
    if (std::ranges::any_of(group, [&](size_t node) { return taken[node]; })) {
      continue;
    }
    for (const size_t node : group) {
      heads[node] = group[0];
      if (group.size() > 1) taken[node] = true;
    }
  }
  return heads;
}

}  // namespace

Drawing drawing_of(const Sketch& sketch, bool fuse) {
  const std::vector<size_t> heads = heads_of(sketch, fuse);
  // A box is placed at its last node: all its inputs are computed by then.
  std::vector<size_t> last(heads.size(), kNone), box(heads.size(), kNone);
  for (size_t i = 0; i < heads.size(); ++i) last[heads[i]] = i;
  Drawing drawing;
  for (size_t i = 0; i < heads.size(); ++i) {
    if (last[heads[i]] != i) continue;
    box[heads[i]] = drawing.boxes.size();
    drawing.boxes.emplace_back();
  }
  for (size_t i = 0; i < heads.size(); ++i) {
    box[i] = box[heads[i]];
    drawing.boxes[box[i]].layers.push_back(sketch.nodes[i].layer);
  }
  for (const SketchKernel& kernel : sketch.kernels) {
    for (const size_t node : kernel.nodes) {
      DrawnBox& of = drawing.boxes[box[node]];
      if (of.precision && *of.precision <= kernel.precision) continue;
      of.precision = kernel.precision;
      of.reason = kernel.reason;
    }
  }
  std::set<std::tuple<size_t, size_t, std::string>> seen;
  for (size_t i = 0; i < heads.size(); ++i) {
    for (const auto& [from, pair] : sketch.nodes[i].reads) {
      if (box[from] == box[i]) continue;
      if (!seen.emplace(box[from], box[i], pair).second) continue;
      drawing.edges.push_back({box[from], box[i], pair});
    }
  }
  return drawing;
}

}  // namespace octet::io
