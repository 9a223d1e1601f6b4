// Allocator of large blocks within regions of system memory. Adjacent free
// blocks are merged, so that larger requests can reuse them.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace octet::arena {

class RegionHeap {
 public:
  /// Alignment and granularity of blocks.
  static constexpr int64_t kPage = 4096;

  RegionHeap() = default;
  /// REQUIRES: no block is in use.
  ~RegionHeap();
  RegionHeap(const RegionHeap&) = delete;
  RegionHeap& operator=(const RegionHeap&) = delete;

  /// Allocates at the lowest address of the first region with room.
  /// Throws: ValueError if the system is out of memory.
  char* take(int64_t bytes);
  /// Frees a block from take().
  void give(char* block) noexcept;
  /// Returns all free memory to the system.
  void trim() noexcept;
  /// Number of regions allocated from the system so far.
  int64_t regions_taken() const;

 private:
  struct Block {
    int64_t size;
    bool free;
  };
  struct Region {
    char* base;
    int64_t size;
    std::map<int64_t, Block> blocks;  // by offset, contiguous
    bool all_free() const {
      return blocks.size() == 1 && blocks.begin()->second.free;
    }
  };
  char* fit(int64_t bytes);
  bool add_region(int64_t bytes);
  void trim_locked() noexcept;

  mutable std::mutex mutex_;
  std::vector<Region> regions_;
  int64_t size_ = 0, free_ = 0;  // total bytes of all regions
  int64_t taken_ = 0;
};

/// Throws: ValueError "memory_limit" with the size.
[[noreturn]] void throw_out_of_memory(int64_t bytes);

/// Allocates system memory, in huge pages if large enough; null on failure.
/// Free it with std::free().
char* system_allocate(int64_t bytes) noexcept;

}  // namespace octet::arena
