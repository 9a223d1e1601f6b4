#include "workspaces.h"

#include <algorithm>
#include <utility>

namespace octet::inference {

void Workspaces::reserve(const std::vector<Blocks>& blocks) {
  std::vector<Tensor> free;
  std::vector<int64_t> sizes;
  for (const auto& [count, floats] : blocks) {
    sizes.push_back(floats);
    for (int64_t i = 0; i < count; ++i) {
      free.push_back(Tensor::zeros({floats}));  // touches the pages, too
    }
  }
  std::ranges::sort(sizes);
  const std::lock_guard lock(mutex_);
  free_ = std::move(free);
  sizes_ = std::move(sizes);
}

Tensor Workspaces::take(int64_t floats) {
  {
    const std::lock_guard lock(mutex_);
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (block->size() < floats) continue;
      if (best == free_.end() || block->size() < best->size()) best = block;
    }
    if (best != free_.end()) {
      Tensor block = std::move(*best);
      free_.erase(best);
      return block;
    }
    const auto kept = std::ranges::lower_bound(sizes_, floats);
    if (kept != sizes_.end()) floats = *kept;
  }
  return Tensor({floats});
}

void Workspaces::give(Tensor block) {
  const std::lock_guard lock(mutex_);
  if (std::ranges::binary_search(sizes_, block.size())) {
    free_.push_back(std::move(block));
  }
}

}  // namespace octet::inference
