#include "region_heap.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <utility>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::arena {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// Untouched pages use only address space: regions may exceed the request, and
// fewer regions allow more merging.
constexpr int64_t kSmallestRegion = int64_t{64} << 20;
constexpr int64_t kLargestRoom = int64_t{1} << 30;

int64_t rounded_up(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

char* system_allocate(int64_t bytes) noexcept {
  const int64_t align = bytes >= kHugePage ? kHugePage : 64;
  const int64_t room = rounded_up(bytes, align);
  void* memory =
      std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(room));
#ifdef __linux__
  if (memory != nullptr && align == kHugePage) {
    madvise(memory, static_cast<size_t>(room), MADV_HUGEPAGE);
  }
#endif
  return static_cast<char*>(memory);
}

void throw_out_of_memory(int64_t bytes) {
  throw ValueError(
      "memory_limit", "",
      fmt::format("out of memory: cannot allocate {} bytes ({:.1f} MiB). Hint: "
                  "use a smaller batch or fewer samples, or raise the memory "
                  "limit (ulimit -v)",
                  bytes, static_cast<double>(bytes) / (1 << 20)));
}

RegionHeap::~RegionHeap() {
  for (const Region& region : regions_) std::free(region.base);
}

char* RegionHeap::take(int64_t bytes) {
  const int64_t size = rounded_up(bytes, kPage);
  const std::lock_guard lock(mutex_);
  if (char* block = fit(size)) return block;
  // Enough memory may be free in blocks that are too small: return it to the
  // system before growing.
  if (free_ >= size) trim_locked();
  const int64_t room = std::clamp(size_ / 4, kSmallestRegion, kLargestRoom);
  for (const int64_t region : {std::max(size, room), size}) {
    if (add_region(rounded_up(region, kHugePage))) return fit(size);
  }
  throw_out_of_memory(bytes);
}

char* RegionHeap::fit(int64_t bytes) {
  for (Region& region : regions_) {
    for (auto& [offset, block] : region.blocks) {
      if (!block.free || block.size < bytes) continue;
      if (block.size > bytes) {
        region.blocks.emplace(offset + bytes, Block{block.size - bytes, true});
        block.size = bytes;
      }
      block.free = false;
      free_ -= bytes;
      return region.base + offset;
    }
  }
  return nullptr;
}

// Returns false if the system is out of memory.
bool RegionHeap::add_region(int64_t bytes) {
  Region region{nullptr, bytes, {{0, Block{bytes, true}}}};
  regions_.reserve(regions_.size() + 1);
  region.base = system_allocate(bytes);
  if (region.base == nullptr) return false;
  regions_.push_back(std::move(region));
  size_ += bytes;
  free_ += bytes;
  ++taken_;
  return true;
}

// Does not allocate.
void RegionHeap::give(char* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto region = std::ranges::find_if(regions_, [&](const Region& r) {
    return r.base <= memory && memory < r.base + r.size;
  });
  auto& blocks = region->blocks;
  const auto block = blocks.find(memory - region->base);
  block->second.free = true;
  free_ += block->second.size;
  const auto join = [&](auto first, auto second) {
    first->second.size += second->second.size;
    blocks.erase(second);
  };
  const auto next = std::next(block);
  if (next != blocks.end() && next->second.free) join(block, next);
  if (block == blocks.begin()) return;
  const auto before = std::prev(block);
  if (before->second.free) join(before, block);
}

void RegionHeap::trim() noexcept {
  const std::lock_guard lock(mutex_);
  trim_locked();
}

void RegionHeap::trim_locked() noexcept {
  std::erase_if(regions_, [&](const Region& region) {
    if (!region.all_free()) return false;
    std::free(region.base);
    size_ -= region.size;
    free_ -= region.size;
    return true;
  });
#ifdef __linux__
  for (const Region& region : regions_) {
    for (const auto& [offset, block] : region.blocks) {
      if (!block.free) continue;
      madvise(region.base + offset, static_cast<size_t>(block.size),
              MADV_DONTNEED);
    }
  }
#endif
}

int64_t RegionHeap::regions_taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

}  // namespace octet::arena
