#include <atomic>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "../../runtime/parallel_region.h"
#include "../support.h"

namespace octet {
namespace {

class Threads : public testing::TestWithParam<int> {
 protected:
  Threads() : before_(num_threads()) { set_num_threads(GetParam()); }
  ~Threads() override { set_num_threads(before_); }

 private:
  int before_;
};

TEST_P(Threads, RunEveryTaskOnce) {
  for (const int64_t tasks : {0, 1, 2, 17, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
    parallel_for(tasks, [&](int64_t i) { ++seen[static_cast<size_t>(i)]; });
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST_P(Threads, SplitChunksBySizeOnly) {
  for (const int64_t n : {0, 1, 15, 16, 17, 1000}) {
    std::vector<std::atomic<int>> seen(static_cast<size_t>(n));
    std::atomic<int64_t> chunks = 0;
    parallel_chunks(n, [&](int64_t first, int64_t last, int64_t) {
      ++chunks;
      for (int64_t i = first; i < last; ++i) ++seen[static_cast<size_t>(i)];
    });
    EXPECT_EQ(chunks, std::min<int64_t>(n, 16));
    for (const auto& count : seen) EXPECT_EQ(count, 1);
  }
}

TEST_P(Threads, RethrowErrorsToTheCaller) {
  EXPECT_EQ(failure_of<ShapeError>([&] {
              parallel_for(50, [](int64_t i) {
                if (i == 31) throw ShapeError("internal", "task", "31");
              });
            }),
            (Failure{"internal", "task"}));
  std::atomic<int> after = 0;
  parallel_for(10, [&](int64_t) { ++after; });
  EXPECT_EQ(after, 10);
}

TEST_P(Threads, RunNestedLoopsSerially) {
  std::atomic<int> count = 0;
  parallel_for(8, [&](int64_t) {
    int own = 0;
    parallel_for(5, [&](int64_t) { ++own; });  // single thread: no race
    count += own;
  });
  EXPECT_EQ(count, 40);
}

TEST_P(Threads, RespectALimit) {
  for (const int most : {1, 2, 3}) {
    const ThreadLimit limit(most);
    EXPECT_EQ(available_threads(), std::min(most, num_threads()));
    std::atomic<int> now = 0, largest = 0;
    std::vector<std::atomic<int>> seen(200);
    parallel_for(200, [&](int64_t i) {
      const int running = ++now;
      int known = largest;
      while (running > known &&
             !largest.compare_exchange_weak(known, running)) {
      }
      ++seen[static_cast<size_t>(i)];
      --now;
    });
    EXPECT_LE(largest, most);
    for (const auto& count : seen) EXPECT_EQ(count, 1);
    EXPECT_EQ(failure_of<ShapeError>([&] {
                parallel_for(50, [](int64_t i) {
                  if (i == 31) throw ShapeError("internal", "task", "31");
                });
              }),
              (Failure{"internal", "task"}));
  }
  EXPECT_EQ(available_threads(), num_threads());
}

TEST_P(Threads, ShareTheLoopsOfARegion) {
  const auto loops = [] {
    const ParallelRegion region;
    for (int64_t tasks = 0; tasks < 500; ++tasks) {
      std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
      parallel_for(tasks, [&](int64_t i) {
        ++seen[static_cast<size_t>(i)];
        int nested = 0;
        parallel_for(2, [&](int64_t) { ++nested; });  // serial: no race
        EXPECT_EQ(nested, 2);
      });
      for (const auto& count : seen) ASSERT_EQ(count, 1);
      const ParallelRegion inner;  // without effect
    }
  };
  loops();
  std::vector<std::thread> callers;
  for (int i = 0; i < 3; ++i) callers.emplace_back(loops);
  for (std::thread& caller : callers) caller.join();
}

TEST_P(Threads, RethrowErrorsInARegion) {
  const ParallelRegion region;
  for (int round = 0; round < 3; ++round) {
    EXPECT_EQ(failure_of<ShapeError>([&] {
                parallel_for(50, [](int64_t i) {
                  if (i % 7 == 3) throw ShapeError("internal", "task", "3");
                });
              }),
              (Failure{"internal", "task"}));
    std::atomic<int> after = 0;
    parallel_for(10, [&](int64_t) { ++after; });
    EXPECT_EQ(after, 10);
  }
}

// Loops outside of a region, between regions, and after a change of the pool.
TEST_P(Threads, LeaveARegionForOtherLoops) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> count = 0;
    {
      const ParallelRegion region;
      parallel_for(20, [&](int64_t) { ++count; });
    }
    parallel_for(20, [&](int64_t) { ++count; });
    set_num_threads(1 + round % 3);
    {
      const ParallelRegion region;
      const SerialGuard serial(round % 2 == 0);
      parallel_for(20, [&](int64_t) { ++count; });
    }
    EXPECT_EQ(count, 60);
  }
}

INSTANTIATE_TEST_SUITE_P(Parallel, Threads, testing::Values(1, 2, 5));

TEST(SetNumThreads, RejectsLessThanOne) {
  EXPECT_EQ(failure_of<ValueError>([&] { set_num_threads(0); }),
            (Failure{"out_of_range", "threads"}));
  EXPECT_EQ(failure_of<ValueError>([&] { set_num_threads(-1); }),
            (Failure{"out_of_range", "threads"}));
}

TEST(SerialGuardTest, KeepsLoopsOnThisThread) {
  const SerialGuard guard;
  int count = 0;
  parallel_for(100, [&](int64_t) { ++count; });
  EXPECT_EQ(count, 100);
}

TEST(ThreadLimitTest, NestedLimitsTakeTheMinimum) {
  const int before = num_threads();
  set_num_threads(6);
  {
    const ThreadLimit four(4);
    {
      const ThreadLimit two(2), three(3), none(0);
      EXPECT_EQ(available_threads(), 2);
      const SerialGuard serial;
      EXPECT_EQ(available_threads(), 1);
    }
    const SerialGuard no(false);
    EXPECT_EQ(available_threads(), 4);
  }
  EXPECT_EQ(available_threads(), 6);
  set_num_threads(before);
}

}  // namespace
}  // namespace octet
