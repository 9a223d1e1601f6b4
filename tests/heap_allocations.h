// Allocations of the C heap by all threads of a test program: malloc() and its
// relatives are counted by definitions of their own (heap_allocations.cpp).
#pragma once

#include <cstdint>

namespace octet {

struct HeapAllocations {
  int64_t count = 0;    ///< calls so far
  int64_t bytes = 0;    ///< requested so far
  int64_t largest = 0;  ///< request since reset_largest_allocation(), in bytes
};

HeapAllocations heap_allocations();
void reset_largest_allocation();

}  // namespace octet
