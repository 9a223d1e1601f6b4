#include "region_heap.h"

#include <algorithm>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::arena {
namespace {

constexpr int64_t kHugePage = int64_t{2} << 20;

// The system is not asked for more while more than this is free in pieces that
// are too small.
constexpr int64_t kMostFree = int64_t{1} << 30;

// Pages that nobody has written take no memory: regions may be larger than what
// is asked for, and the fewer there are, the more blocks can join.
constexpr int64_t kSmallestRegion = int64_t{64} << 20;

int64_t rounded_up(int64_t bytes, int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

char* allocate(int64_t bytes) noexcept {
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

}  // namespace

char* system_allocate(int64_t bytes) {
  char* memory = allocate(bytes);
  if (memory == nullptr) {
    throw ValueError(
        fmt::format("memory: expected {} bytes to be available", bytes));
  }
  return memory;
}

char* RegionHeap::take(int64_t bytes) {
  const int64_t size = rounded_up(bytes, kPage);
  const std::lock_guard lock(mutex_);
  if (char* block = fit(size)) return block;
  if (free_ > kMostFree) trim_locked();
  add_region(size);
  return fit(size);
}

char* RegionHeap::fit(int64_t bytes) {
  for (Region& region : regions_) {
    for (auto at = region.free.begin(); at != region.free.end(); ++at) {
      const auto [offset, size] = *at;
      if (size < bytes) continue;
      region.free.erase(at);
      if (size > bytes) region.free.emplace(offset + bytes, size - bytes);
      free_ -= bytes;
      return region.base + offset;
    }
  }
  return nullptr;
}

void RegionHeap::add_region(int64_t bytes) {
  int64_t size =
      rounded_up(std::max({bytes, kSmallestRegion, size_}), kHugePage);
  char* base = allocate(size);
  if (base == nullptr) {  // no more than what is needed, then
    size = rounded_up(bytes, kHugePage);
    base = system_allocate(size);
  }
  regions_.push_back({base, size, {{0, size}}});
  size_ += size;
  free_ += size;
  ++taken_;
}

void RegionHeap::give(char* block, int64_t bytes) noexcept {
  int64_t size = rounded_up(bytes, kPage);
  const std::lock_guard lock(mutex_);
  const auto region = std::ranges::find_if(regions_, [&](const Region& r) {
    return r.base <= block && block < r.base + r.size;
  });
  free_ += size;
  int64_t offset = block - region->base;
  auto next = region->free.lower_bound(offset);
  if (next != region->free.end() && next->first == offset + size) {
    size += next->second;
    next = region->free.erase(next);
  }
  if (next != region->free.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += size;
      return;
    }
  }
  region->free.emplace_hint(next, offset, size);
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
    for (const auto& [offset, size] : region.free) {
      madvise(region.base + offset, static_cast<size_t>(size), MADV_DONTNEED);
    }
  }
#endif
}

int64_t RegionHeap::regions_taken() const {
  const std::lock_guard lock(mutex_);
  return taken_;
}

}  // namespace octet::arena
