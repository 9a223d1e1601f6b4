#include "heap_allocations.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

namespace {

std::atomic<int64_t> heap_calls{0};
std::atomic<int64_t> heap_bytes{0};
std::atomic<int64_t> largest_request{0};

void note_request(size_t size) {
  const auto bytes = static_cast<int64_t>(size);
  ++heap_calls;
  heap_bytes += bytes;
  int64_t largest = largest_request;
  while (largest < bytes &&
         !largest_request.compare_exchange_weak(largest, bytes)) {
  }
}

}  // namespace

// glibc's allocator under its second names.
extern "C" {
void* __libc_malloc(size_t size);
void* __libc_calloc(size_t count, size_t size);
void* __libc_realloc(void* memory, size_t size);
void* __libc_memalign(size_t align, size_t size);

void* malloc(size_t size) {
  note_request(size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  note_request(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  note_request(size);
  return __libc_realloc(memory, size);
}
void* memalign(size_t align, size_t size) {
  note_request(size);
  return __libc_memalign(align, size);
}
void* aligned_alloc(size_t align, size_t size) { return memalign(align, size); }
int posix_memalign(void** memory, size_t align, size_t size) {
  *memory = memalign(align, size);
  return *memory == nullptr ? ENOMEM : 0;
}
}

namespace octet {

HeapAllocations heap_allocations() {
  return {heap_calls, heap_bytes, largest_request};
}

void reset_largest_allocation() { largest_request = 0; }

}  // namespace octet
