#include "arena.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/system.h>

#include "base/trace_events.h"
#include "region_heap.h"

namespace octet::arena {
namespace {

// A cache would hide use-after-free from the address sanitizer.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif

std::atomic<int64_t> system_count{0};

// Larger buffers are blocks of the RegionHeap.
constexpr int64_t kLargestOfLists = int64_t{1} << 18;
// Never destroyed, since tensors may outlive statics.
RegionHeap& heap() {
  static RegionHeap* const instance = new RegionHeap;
  return *instance;
}
bool of_heap(int64_t capacity) {
  return kCaching && capacity > kLargestOfLists;
}

// Eight classes per power of two: at most 12 % of slack.
int64_t size_class(int64_t bytes) {
  int64_t step = 4096;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

void free_buffer(Buffer* buffer) noexcept {
  if (of_heap(buffer->capacity)) {
    heap().give(buffer->data);
  } else {
    std::free(buffer->data);
  }
  delete buffer;
}

using FreeLists = std::unordered_map<int64_t, std::vector<Buffer*>>;

Buffer* pop(FreeLists& lists, int64_t capacity) {
  const auto found = lists.find(capacity);
  if (found == lists.end() || found->second.empty()) return nullptr;
  Buffer* buffer = found->second.back();
  found->second.pop_back();
  return buffer;
}

struct Cache;

// Free buffers of all threads: buffers allocated by one thread and freed by
// another return through here. Never destroyed, like the heap.
struct Shared {
  std::mutex mutex;
  FreeLists free;
  int64_t bytes = 0;
  std::set<Cache*> caches;  // one per thread
};
Shared& shared() {
  static Shared* const instance = new Shared;
  return *instance;
}

// Idle memory above this is freed before more is requested from the system.
// Loops reuse the same size classes and never get here.
constexpr int64_t kMostIdle = int64_t{1} << 30;

void free_all(FreeLists& lists) {
  for (auto& [capacity, buffers] : lists) {
    for (Buffer* buffer : buffers) free_buffer(buffer);
  }
  lists.clear();
}

// Frees the shared idle memory if it exceeds `most` bytes.
void free_idle(int64_t most) {
  FreeLists idle;
  {
    const std::lock_guard lock(shared().mutex);
    if (shared().bytes <= most) return;
    idle.swap(shared().free);
    shared().bytes = 0;
  }
  free_all(idle);
}

// Most idle memory that a thread keeps in its own cache.
constexpr int64_t kMostCached = int64_t{64} << 20;

struct Cache {
  std::mutex mutex;  // contended only by release_memory()
  FreeLists free;
  int64_t bytes = 0;

  Cache();
  ~Cache();
  void clear() {
    const std::lock_guard lock(mutex);
    free_all(free);
    bytes = 0;
  }
};

// Null before the first use and after destruction of the thread's cache: a
// static Tensor may outlive it.
thread_local Cache* mine = nullptr;

Cache::Cache() {
  const std::lock_guard lock(shared().mutex);
  shared().caches.insert(this);
}
Cache::~Cache() {
  mine = nullptr;
  {
    const std::lock_guard lock(shared().mutex);
    shared().caches.erase(this);
  }
  clear();
}

Cache* cache() {
  thread_local Cache instance;
  thread_local bool started = false;
  if (!started) {
    started = true;
    mine = &instance;
  }
  return mine;
}

// Returns a previously freed buffer of this class, or null.
Buffer* reuse(int64_t capacity) {
  if (!kCaching || of_heap(capacity)) return nullptr;
  if (Cache* own = cache()) {
    const std::lock_guard lock(own->mutex);
    if (Buffer* buffer = pop(own->free, capacity)) {
      own->bytes -= capacity;
      return buffer;
    }
  }
  const std::lock_guard lock(shared().mutex);
  Buffer* buffer = pop(shared().free, capacity);
  if (buffer != nullptr) shared().bytes -= capacity;
  return buffer;
}

void keep(Buffer* buffer) {
  if (Cache* own = cache()) {
    const std::lock_guard lock(own->mutex);
    if (own->bytes + buffer->capacity <= kMostCached) {
      own->free[buffer->capacity].push_back(buffer);
      own->bytes += buffer->capacity;
      return;
    }
  }
  const std::lock_guard lock(shared().mutex);
  shared().free[buffer->capacity].push_back(buffer);
  shared().bytes += buffer->capacity;
}

thread_local StepMemory* step_memory = nullptr;

constexpr int64_t kOfStep = -1;  // capacity of a buffer in StepMemory
constexpr int64_t kHeader = 64;  // bytes of its Buffer, before the data
static_assert(sizeof(Buffer) <= kHeader);

// Allocates outside of StepMemory.
Buffer* take_lasting(int64_t bytes) {
  const bool large = of_heap(bytes + kSlack);
  const int64_t capacity = large ? bytes + kSlack : size_class(bytes + kSlack);
  if (Buffer* buffer = reuse(capacity)) {
    buffer->references = 1;
    buffer->writes = 0;
    buffer->writers = 0;
    return buffer;
  }
  auto buffer = std::make_unique<Buffer>();
  free_idle(kMostIdle);
  if (large) {
    buffer->data = heap().take(capacity);
  } else {
    ++system_count;
    buffer->data = system_allocate(capacity);
    if (buffer->data == nullptr) {
      throw_out_of_memory(bytes);
    }
  }
  buffer->capacity = capacity;
  buffer->references = 1;
  buffer->writes = 0;
  buffer->writers = 0;
  return buffer.release();
}

}  // namespace

StepMemory::StepMemory(char* memory, int64_t bytes)
    : memory_(memory),
      bytes_(bytes),
      before_(std::exchange(step_memory, this)) {}

StepMemory::~StepMemory() { step_memory = before_; }

char* StepMemory::take(int64_t bytes) {
  const int64_t at = requested_;
  requested_ += kHeader + (bytes + kSlack + 63) / 64 * 64;
  return requested_ <= bytes_ ? memory_ + at : nullptr;
}

Buffer* take(int64_t bytes) {
  const bool traced = traces(TraceKind::alloc);  // reports invalid settings
  if (char* part =
          step_memory == nullptr ? nullptr : step_memory->take(bytes)) {
    return new (part) Buffer{part + kHeader, kOfStep, 1, 0, 0};
  }
  Buffer* const buffer = take_lasting(bytes);
  if (traced) diagnosis::note_alloc(buffer->capacity);
  return buffer;
}

void give(Buffer* buffer) noexcept {
  if (buffer->capacity == kOfStep) {
    std::destroy_at(buffer);
    return;
  }
  if (detail::has_read(TraceKind::alloc)) {
    diagnosis::note_alloc(-buffer->capacity);
  }
  if (kCaching && !of_heap(buffer->capacity)) {
    try {
      keep(buffer);
      return;
    } catch (const std::bad_alloc&) {
      // No memory for the free list entry: free the buffer.
    }
  }
  free_buffer(buffer);
}

int64_t system_allocations() { return system_count + heap().regions_taken(); }

float* scratch(int slot, int64_t floats) {
  struct Region {
    Buffer* buffer = nullptr;
    ~Region() {
      if (buffer != nullptr) free_buffer(buffer);
    }
  };
  thread_local std::array<Region, kScratchSlots> regions;
  Region& region = regions[static_cast<size_t>(slot)];
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float)) + kSlack;
  if (region.buffer == nullptr || region.buffer->capacity < bytes) {
    Buffer* larger = take_lasting(bytes);
    if (region.buffer != nullptr) free_buffer(region.buffer);
    region.buffer = larger;
  }
  return reinterpret_cast<float*>(region.buffer->data);
}

}  // namespace octet::arena

namespace octet {

void release_memory() {
  arena::free_idle(0);
  arena::heap().trim();
  {
    arena::Shared& shared = arena::shared();
    const std::lock_guard lock(shared.mutex);
    for (arena::Cache* cache : shared.caches) cache->clear();
  }
#ifdef __GLIBC__
  malloc_trim(0);  // freed large buffers may have become part of the heap
#endif
}

}  // namespace octet
