#include "runtime/tensor/region_heap.h"

#include <cstring>
#include <map>

#include <gtest/gtest.h>

#include <octet/runtime/rng.h>

namespace octet::arena {
namespace {

constexpr int64_t kMiB = int64_t{1} << 20;

TEST(RegionHeap, MergesFreedBlocks) {
  RegionHeap heap;
  char* const a = heap.take(3 * kMiB);
  char* const b = heap.take(5 * kMiB + 1);
  char* const c = heap.take(kMiB);
  EXPECT_EQ(b, a + 3 * kMiB);
  EXPECT_EQ(c, b + 5 * kMiB + RegionHeap::kPage);
  // Frees the middle block, then its neighbors.
  heap.give(b);
  heap.give(a);
  EXPECT_EQ(heap.take(8 * kMiB), a);
  heap.give(a);
  heap.give(c);
  EXPECT_EQ(heap.take(40 * kMiB), a);
  EXPECT_EQ(heap.regions_taken(), 1);
}

TEST(RegionHeap, UsesTheLowestAddressThatFits) {
  RegionHeap heap;
  char* const a = heap.take(4 * kMiB);
  char* const between = heap.take(kMiB);
  char* const b = heap.take(2 * kMiB);
  (void)heap.take(kMiB);
  heap.give(a);
  heap.give(b);
  EXPECT_EQ(heap.take(2 * kMiB), a);
  EXPECT_EQ(heap.take(3 * kMiB), between + 4 * kMiB);  // after the last block
  EXPECT_EQ(heap.take(2 * kMiB), a + 2 * kMiB);
  EXPECT_EQ(heap.take(2 * kMiB), b);
}

TEST(RegionHeap, ReturnsFreeMemory) {
  RegionHeap heap;
  char* const large = heap.take(200 * kMiB);
  char* const small = heap.take(kMiB);
  EXPECT_EQ(heap.regions_taken(), 2);
  std::memset(small, 7, kMiB);
  heap.give(large);
  heap.trim();  // frees the whole first region
  EXPECT_EQ(small[kMiB - 1], 7);
  (void)heap.take(60 * kMiB);
  EXPECT_EQ(heap.regions_taken(), 2);
  (void)heap.take(150 * kMiB);
  EXPECT_EQ(heap.regions_taken(), 3);
}

TEST(RegionHeap, NeverAllocatesAByteTwice) {
  RegionHeap heap;
  Rng rng(3);
  std::map<char*, int64_t> live;
  for (int step = 0; step < 4000; ++step) {
    if (!live.empty() && rng.next() % 2 == 0) {
      auto at = live.begin();
      std::advance(at, static_cast<int64_t>(rng.next() % live.size()));
      heap.give(at->first);
      live.erase(at);
    } else {
      const auto size = static_cast<int64_t>(rng.next() % (9 * kMiB)) + 1;
      char* const block = heap.take(size);
      const auto after = live.lower_bound(block);
      if (after != live.end()) {
        ASSERT_LE(block + size, after->first);
      }
      if (after != live.begin()) {
        const auto before = std::prev(after);
        ASSERT_LE(before->first + before->second, block);
      }
      live.emplace(block, size);
    }
    if (step % 500 == 499) heap.trim();
  }
  for (const auto& [block, size] : live) heap.give(block);
  heap.trim();
}

}  // namespace
}  // namespace octet::arena
