// Memory in large blocks, cut from regions of the system's: blocks that are
// freed join their neighbours, so what was two may serve one that is larger.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace octet::arena {

class RegionHeap {
 public:
  /// Blocks begin at multiples of it, and are as long as multiples of it.
  static constexpr int64_t kPage = 4096;

  RegionHeap() = default;
  /// REQUIRES: nobody uses a block any more.
  ~RegionHeap();
  RegionHeap(const RegionHeap&) = delete;
  RegionHeap& operator=(const RegionHeap&) = delete;

  /// The lowest place of the first region with room. Throws: ValueError if the
  /// system has no memory left.
  char* take(int64_t bytes);
  /// Of a block from take().
  void give(char* block) noexcept;
  /// Gives the memory of all that is free back to the system.
  void trim() noexcept;
  /// Regions asked of the system so far.
  int64_t regions_taken() const;

 private:
  struct Block {
    int64_t size;
    bool free;
  };
  struct Region {
    char* base;
    int64_t size;
    std::map<int64_t, Block> blocks;  // by offset, one after another
    bool all_free() const {
      return blocks.size() == 1 && blocks.begin()->second.free;
    }
  };
  char* fit(int64_t bytes);
  bool add_region(int64_t bytes);
  void trim_locked() noexcept;

  mutable std::mutex mutex_;
  std::vector<Region> regions_;
  int64_t size_ = 0, free_ = 0;  // bytes of all regions
  int64_t taken_ = 0;
};

/// Throws: ValueError that names the size.
[[noreturn]] void throw_out_of_memory(int64_t bytes);

/// Bytes of the system, in huge pages where they are worth it, or null; free
/// them by std::free().
char* system_allocate(int64_t bytes) noexcept;

}  // namespace octet::arena
