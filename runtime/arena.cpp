#include "arena.h"

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <set>
#include <unordered_map>
#include <vector>

#ifdef __linux__
#include <malloc.h>
#include <sys/mman.h>
#endif

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/memory.h>

namespace octet::arena {
namespace {

// A cache would hide use after free from the address sanitizer.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kCaching = false;
#else
constexpr bool kCaching = true;
#endif

constexpr int64_t kPage = 4096;
constexpr int64_t kHugePage = int64_t{2} << 20;

std::atomic<int64_t> system_count{0};

// Eight classes per power of two: at most 12 % more than asked for.
int64_t size_class(int64_t bytes) {
  int64_t step = kPage;
  while (step * 16 < bytes) step *= 2;
  return (bytes + step - 1) / step * step;
}

char* system_allocate(int64_t bytes, int64_t align) {
  const int64_t room = (bytes + align - 1) / align * align;
  void* memory =
      std::aligned_alloc(static_cast<size_t>(align), static_cast<size_t>(room));
  if (memory == nullptr) {
    throw ValueError(
        fmt::format("memory: expected {} bytes to be available", bytes));
  }
#ifdef __linux__
  if (align == kHugePage) {
    madvise(memory, static_cast<size_t>(room), MADV_HUGEPAGE);
  }
#endif
  return static_cast<char*>(memory);
}

void system_free(Buffer* buffer) noexcept {
  std::free(buffer->data);
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

// What threads have left over: where one allocates and another frees, buffers
// come back through here. Never destroyed, since tensors may outlive statics.
struct Shared {
  std::mutex mutex;
  FreeLists free;
  int64_t bytes = 0;
  std::set<Cache*> caches;  // of all threads
};
Shared& shared() {
  static Shared* const instance = new Shared;
  return *instance;
}

// The system is not asked for more while more than this lies idle. A loop takes
// the same classes again and again, and never comes here.
constexpr int64_t kMostIdle = int64_t{1} << 30;

void free_all(FreeLists& lists) {
  for (auto& [capacity, buffers] : lists) {
    for (Buffer* buffer : buffers) system_free(buffer);
  }
  lists.clear();
}

// What lies idle for all, if it is more than `most` bytes.
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

// A thread keeps this much to itself.
constexpr int64_t kMostCached = int64_t{64} << 20;

struct Cache {
  std::mutex mutex;  // others take it in release_memory() alone
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

// Null before the first use and after the thread's cache is gone: a static
// Tensor may outlive it.
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

// A buffer of that class which was freed before, or null.
Buffer* reuse(int64_t capacity) {
  if (!kCaching) return nullptr;
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

}  // namespace

Buffer* take(int64_t bytes) {
  const int64_t capacity = size_class(bytes + kSlack);
  if (Buffer* buffer = reuse(capacity)) {
    buffer->references = 1;
    buffer->writes = 0;
    buffer->writers = 0;
    return buffer;
  }
  free_idle(kMostIdle);
  ++system_count;
  const int64_t align = capacity >= kHugePage ? kHugePage : 64;
  auto buffer = std::make_unique<Buffer>();
  buffer->data = system_allocate(capacity, align);
  buffer->capacity = capacity;
  buffer->references = 1;
  buffer->writes = 0;
  buffer->writers = 0;
  return buffer.release();
}

void give(Buffer* buffer) noexcept {
  if (kCaching) {
    try {
      keep(buffer);
      return;
    } catch (const std::bad_alloc&) {
      // No memory to remember it by: then it goes.
    }
  }
  system_free(buffer);
}

int64_t system_allocations() { return system_count; }

float* scratch(int slot, int64_t floats) {
  struct Region {
    Buffer* buffer = nullptr;
    ~Region() {
      if (buffer != nullptr) system_free(buffer);
    }
  };
  thread_local std::array<Region, kScratchSlots> regions;
  Region& region = regions[static_cast<size_t>(slot)];
  const int64_t bytes = floats * static_cast<int64_t>(sizeof(float)) + kSlack;
  if (region.buffer == nullptr || region.buffer->capacity < bytes) {
    Buffer* larger = take(bytes);
    if (region.buffer != nullptr) system_free(region.buffer);
    region.buffer = larger;
  }
  return reinterpret_cast<float*>(region.buffer->data);
}

}  // namespace octet::arena

namespace octet {

void release_memory() {
  arena::free_idle(0);
  {
    arena::Shared& shared = arena::shared();
    const std::lock_guard lock(shared.mutex);
    for (arena::Cache* cache : shared.caches) cache->clear();
  }
#ifdef __GLIBC__
  malloc_trim(0);  // which large buffers may have become part of
#endif
}

}  // namespace octet
