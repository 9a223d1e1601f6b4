// Parallel loops on Octet's own threads, which octet::session links.
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/parallel.h>

#include "../../runtime/parallel_region.h"
#include "../support.h"

namespace octet {
namespace {

class OwnThreads : public testing::TestWithParam<int> {
 protected:
  OwnThreads() { set_num_threads(GetParam()); }

 private:
  ThreadCountGuard guard_;
};

void expect_every_task(int64_t tasks) {
  std::vector<std::atomic<int>> seen(static_cast<size_t>(tasks));
  parallel_for(tasks, [&](int64_t i) {
    if (tasks > 1) {
      EXPECT_EQ(available_threads(), 1);
    }
    ++seen[static_cast<size_t>(i)];
  });
  for (const auto& count : seen) EXPECT_EQ(count, 1);
}

TEST_P(OwnThreads, RunEveryTaskOnce) {
  for (const int64_t tasks : {0, 1, 2, 17, 1000, (1 << 20) + 3}) {
    expect_every_task(tasks);
  }
}

TEST_P(OwnThreads, RunLoopsWithinARegion) {
  const ParallelRegion region;
  for (int64_t i = 0; i < 200; ++i) expect_every_task(i % 20);
}

TEST_P(OwnThreads, RunLoopsUnderALimit) {
  const ThreadLimit limit(2);
  std::atomic<int> running = 0, most = 0;
  parallel_for(100, [&](int64_t) {
    const int now = ++running;
    int before = most;
    while (now > before && !most.compare_exchange_weak(before, now)) {
    }
    --running;
  });
  EXPECT_LE(most, 2);
}

TEST_P(OwnThreads, RethrowExceptionsAndContinue) {
  for (int i = 0; i < 50; ++i) {
    EXPECT_THROW(parallel_for(64,
                              [](int64_t task) {
                                if (task % 7 == 3) {
                                  throw std::runtime_error("task");
                                }
                              }),
                 std::runtime_error);
    expect_every_task(64);
  }
}

TEST_P(OwnThreads, ServeSeveralCallers) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([] {
      for (int64_t k = 0; k < 100; ++k) expect_every_task(k);
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(OwnThreads, ChangeTheirNumber) {
  for (const int count : {1, 4, 2}) {
    set_num_threads(count);
    expect_every_task(100);
    const ParallelRegion region;
    expect_every_task(100);
  }
}

INSTANTIATE_TEST_SUITE_P(Counts, OwnThreads, testing::Values(1, 2, 3, 8));

}  // namespace
}  // namespace octet
