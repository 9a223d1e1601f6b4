#include "workspaces.h"

#include <utility>

namespace octet::inference {

void Workspaces::reserve(int64_t count, int64_t floats) {
  std::vector<Tensor> blocks;
  for (int64_t i = 0; i < count; ++i) {
    blocks.push_back(Tensor::zeros({floats}));  // the system's pages, too
  }
  const std::lock_guard lock(mutex_);
  free_ = std::move(blocks);
  floats_ = floats;
}

Tensor Workspaces::take(int64_t floats) {
  {
    const std::lock_guard lock(mutex_);
    if (floats <= floats_) {
      floats = floats_;
      if (!free_.empty()) {
        Tensor block = std::move(free_.back());
        free_.pop_back();
        return block;
      }
    }
  }
  return Tensor({floats});
}

void Workspaces::give(Tensor block) {
  const std::lock_guard lock(mutex_);
  if (block.size() == floats_) free_.push_back(std::move(block));
}

}  // namespace octet::inference
