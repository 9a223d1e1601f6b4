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

/// While it exists, tensors of this thread are allocated in `memory`, as long
/// as they fit. They must be freed before it. Aligned to 64 bytes.
class StepMemory {
 public:
  StepMemory(char* memory, int64_t bytes);
  ~StepMemory();
  StepMemory(const StepMemory&) = delete;
  StepMemory& operator=(const StepMemory&) = delete;

  /// Bytes that would have held all tensors allocated so far.
  int64_t requested() const { return requested_; }
  /// Returns a part of the memory with room for a Buffer before the data, or
  /// null.
  char* take(int64_t bytes);

 private:
  char* memory_;
  int64_t bytes_;
  int64_t requested_ = 0;
  StepMemory* before_;
};

/// Number of system allocations so far, by all threads.
int64_t system_allocations();

/// Returns scratch memory of this thread, reused between calls; it grows and
/// never shrinks. `slot` in [0, kScratchSlots) selects an independent region.
inline constexpr int kScratchSlots = 4;
float* scratch(int slot, int64_t floats);

}  // namespace arena
}  // namespace octet
