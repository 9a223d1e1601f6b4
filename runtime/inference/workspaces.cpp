#include "workspaces.h"

#include <algorithm>
#include <utility>

namespace octet::inference {
namespace {

Workspace workspace_of(Tensor block, size_t storages) {
  Workspace result{std::move(block), std::vector<Tensor>(storages), {}};
  result.arguments.reserve(storages);
  return result;
}

}  // namespace

void Workspaces::reserve(const std::vector<Blocks>& blocks, size_t storages) {
  std::vector<Workspace> free;
  std::vector<int64_t> sizes;
  for (const auto& [count, floats] : blocks) {
    sizes.push_back(floats);
    for (int64_t i = 0; i < count; ++i) {
      // Zeros touch the pages, too.
      free.push_back(workspace_of(Tensor::zeros({floats}), storages));
    }
  }
  std::ranges::sort(sizes);
  const std::lock_guard lock(mutex_);
  free_ = std::move(free);
  sizes_ = std::move(sizes);
}

Workspace Workspaces::take(int64_t floats, size_t storages) {
  {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto free = free_.begin(); free != free_.end(); ++free) {
      if (free->block.size() < floats) continue;
      if (best == free_.end() || free->block.size() < best->block.size()) {
        best = free;
      }
    }
    if (best != free_.end()) {
      Workspace workspace = std::move(*best);
      free_.erase(best);
      return workspace;
    }
    const auto kept = std::ranges::lower_bound(sizes_, floats);
    if (kept != sizes_.end()) floats = *kept;
  }
  return workspace_of(Tensor({floats}), storages);
}

void Workspaces::give(Workspace workspace) {
  std::ranges::fill(workspace.tensors, Tensor());
  workspace.arguments.clear();
  const std::lock_guard lock(mutex_);
  if (std::ranges::binary_search(sizes_, workspace.block.size())) {
    free_.push_back(std::move(workspace));
  }
}

}  // namespace octet::inference
