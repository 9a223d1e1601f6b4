// Caching arena: a step allocates nothing after the second one. Buffers of up
// to 256 KiB wait, once freed, on lists of their size class, one set a thread
// and one for all, so that a chunk's working set stays in its core's cache;
// before the system is asked for more, what waits there for all is freed if it
// is over 1 GiB. Larger buffers are blocks of a RegionHeap.
#pragma once

#include <atomic>
#include <cstdint>

namespace octet {

struct Buffer {
  char* data;
  int64_t capacity;
  std::atomic<int> references;
  std::atomic<uint64_t> writes;  // through Variables, since take()
  std::atomic<int> writers;      // WriteSpans that live
};

namespace arena {

/// Readable and writable bytes beyond what was asked for, so that kernels may
/// load whole vectors at the end of a buffer.
inline constexpr int64_t kSlack = 256;

/// A buffer of at least `bytes` (+ kSlack), aligned to 64, with one
/// reference. Throws: ValueError if the system has no memory left.
Buffer* take(int64_t bytes);
/// Returns a buffer that nobody references.
void give(Buffer* buffer) noexcept;

/// Gives the memory of a buffer back to the system, but not its addresses: what
/// is in it is undefined from then on.
void give_memory(const Buffer& buffer) noexcept;

/// Buffers asked of the system so far, by all threads.
int64_t system_allocations();

/// Memory that this thread reuses from call to call; it grows and never
/// shrinks. `slot` in [0, kScratchSlots) names independent regions.
inline constexpr int kScratchSlots = 4;
float* scratch(int slot, int64_t floats);

}  // namespace arena
}  // namespace octet
