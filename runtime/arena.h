// Caching arena: from the third step on, training allocates nothing. Freed
// buffers of up to 256 KiB go to free lists by size class, a set per thread and
// a shared set, so that a chunk's working set stays in its core's cache. Before
// allocating from the system, the shared lists are freed if they exceed 1 GiB.
// Larger buffers are blocks of a RegionHeap.
#pragma once

#include <atomic>
#include <cstdint>

namespace octet {

struct Buffer {
  char* data;
  int64_t capacity;
  std::atomic<int> references;
  std::atomic<uint64_t> writes;  // through Variables, since take()
  std::atomic<int> writers;      // number of existing WriteSpans
};

namespace arena {

/// Readable and writable bytes beyond the requested size: kernels may load
/// whole vectors at the end of a buffer.
inline constexpr int64_t kSlack = 256;

/// Allocates at least `bytes` (+ kSlack), aligned to 64, with a reference count
/// of 1. Throws: ValueError if the system is out of memory.
Buffer* take(int64_t bytes);
/// Frees a buffer without references.
void give(Buffer* buffer) noexcept;

/// Number of system allocations so far, by all threads.
int64_t system_allocations();

/// Returns scratch memory of this thread, reused between calls; it grows and
/// never shrinks. `slot` in [0, kScratchSlots) selects an independent region.
inline constexpr int kScratchSlots = 4;
float* scratch(int slot, int64_t floats);

}  // namespace arena
}  // namespace octet
