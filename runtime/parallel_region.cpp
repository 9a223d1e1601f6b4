#include "parallel_region.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <octet/runtime/parallel.h>

#include "thread_pool.h"

namespace octet {
namespace {

void spin() {
#ifdef __x86_64__
  __builtin_ia32_pause();
#endif
}

// The loops of a ParallelRegion. Its thread and helpers claim tasks one by one;
// the thread waits only for claimed tasks, so that it never depends on a helper
// that has not started.
class Team : public std::enable_shared_from_this<Team> {
 public:
  using Run = void (*)(const void*, int64_t);
  static constexpr int64_t kMostTasks = int64_t{1} << 20;

  void open() { ++region_; }
  void close() { ++region_; }

  void run(int64_t threads, int64_t tasks, Run function, const void* body) {
    run_ = function;
    body_ = body;
    done_.store(0, std::memory_order_relaxed);
    loop_ = (loop_ + 1) % (uint64_t{1} << 24);
    ticket_.store(
        (loop_ * kMostTasks + static_cast<uint64_t>(tasks)) * kMostTasks,
        std::memory_order_release);
    summon(static_cast<int>(std::min(threads, tasks)) - 1);
    {
      const SerialGuard guard;
      while (run_next()) {
      }
    }
    while (done_.load(std::memory_order_acquire) < tasks) spin();
    if (!failed_.exchange(false)) return;
    std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  void summon(int count) {
    const uint64_t region = region_;
    while (helpers_ < count) {
      ++helpers_;
      thread_pool().enqueue(
          [team = shared_from_this(), region] { team->help(region); });
    }
  }

  // Leaves a region that stays idle, e.g. during a serial step; the next loop
  // summons helpers again.
  void help(uint64_t region) {
    constexpr int kSpins = 2000;    // tens of microseconds,
    constexpr int kPatience = 400;  // then so many other threads may run
    const SerialGuard guard;
    for (int idle = 0; region_ == region && idle < kSpins + kPatience;) {
      if (run_next()) {
        idle = 0;
      } else if (++idle < kSpins) {
        spin();
      } else {
        std::this_thread::yield();
      }
    }
    --helpers_;
  }

  // Claims and runs a task. Returns false if there is none.
  bool run_next() {
    uint64_t ticket = ticket_.load(std::memory_order_acquire);
    uint64_t task;
    do {
      task = ticket % kMostTasks;
      if (task >= ticket / kMostTasks % kMostTasks) return false;
    } while (!ticket_.compare_exchange_weak(ticket, ticket + 1,
                                            std::memory_order_acquire));
    try {
      run_(body_, static_cast<int64_t>(task));
    } catch (...) {
      if (!failed_.exchange(true)) error_ = std::current_exception();
    }
    done_.fetch_add(1, std::memory_order_release);
    return true;
  }

  // Loop number, number of tasks, next task; the fields below may be read after
  // a task is claimed and before it is done.
  std::atomic<uint64_t> ticket_ = 0;
  uint64_t loop_ = 0;
  Run run_ = nullptr;
  const void* body_ = nullptr;
  std::atomic<int64_t> done_ = 0;
  std::atomic<bool> failed_ = false;
  std::exception_ptr error_;
  std::atomic<uint64_t> region_ = 0;  // odd while open
  std::atomic<int> helpers_ = 0;      // summoned and not yet left
};

// The team of this thread, while a region is open.
thread_local Team* open_team = nullptr;

}  // namespace

ParallelRegion::ParallelRegion()
    : opened_(open_team == nullptr && available_threads() > 1) {
  if (!opened_) return;
  thread_local const auto team = std::make_shared<Team>();
  open_team = team.get();
  open_team->open();
}

ParallelRegion::~ParallelRegion() {
  if (opened_) std::exchange(open_team, nullptr)->close();
}

bool detail::run_in_region(int64_t threads, int64_t tasks,
                           void (*run)(const void*, int64_t),
                           const void* body) {
  if (open_team == nullptr || tasks >= Team::kMostTasks) return false;
  open_team->run(threads, tasks, run, body);
  return true;
}

}  // namespace octet
