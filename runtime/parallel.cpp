// The only user of TBB.
#include <algorithm>
#include <atomic>
#include <exception>
#include <memory>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "parallel_region.h"

#ifdef OCTET_ANNOTATE_THREADS
extern "C" void __tsan_acquire(void*);
extern "C" void __tsan_release(void*);
#endif

namespace octet {
namespace {

// Declares TBB's ordering guarantees to the thread sanitizer: Debian's TBB is
// not instrumented, so the sanitizer cannot see that tasks run between start
// and end.
class Fence {
 public:
#ifdef OCTET_ANNOTATE_THREADS
  void acquire() const { __tsan_acquire(const_cast<char*>(&address_)); }
  void release() const { __tsan_release(const_cast<char*>(&address_)); }
#else
  void acquire() const {}
  void release() const {}
#endif

 private:
  [[maybe_unused]] char address_ = 0;
};

// Act at the end of a scope, also if a task throws.
struct ReleaseAtEnd {
  const Fence& fence;
  ~ReleaseAtEnd() { fence.release(); }
};
struct AcquireAtEnd {
  const Fence& fence;
  ~AcquireAtEnd() { fence.acquire(); }
};

// The pool. By default TBB creates at most as many threads as cores.
struct Workers {
  explicit Workers(int count)
      : limit(tbb::global_control::max_allowed_parallelism,
              static_cast<size_t>(count)),
        arena(count) {}
  tbb::global_control limit;
  tbb::task_arena arena;
};

std::unique_ptr<Workers>& workers() {
  static auto instance = std::make_unique<Workers>(num_threads());
  return instance;
}

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
      workers()->arena.enqueue(
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

int& thread_count() {
  static int count =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

}  // namespace

int num_threads() { return thread_count(); }

void set_num_threads(int count) {
  if (count < 1) {
    throw ValueError("out_of_range", "threads",
                     fmt::format("needs a count of at least 1, got {}", count));
  }
  if (count == thread_count()) return;
  thread_count() = count;
  workers().reset();  // before the new pool: TBB combines limits
  workers() = std::make_unique<Workers>(count);
}

int available_threads() {
  const int limit = thread_modes().threads;
  return limit > 0 ? std::min(limit, num_threads()) : num_threads();
}

ThreadLimit::ThreadLimit(int most) : before_(thread_modes().threads) {
  int& limit = thread_modes().threads;
  if (most > 0) limit = limit > 0 ? std::min(limit, most) : most;
}
ThreadLimit::~ThreadLimit() { thread_modes().threads = before_; }

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

void detail::parallel_for(int64_t tasks, void (*run)(const void*, int64_t),
                          const void* body) {
  const int64_t threads = available_threads();
  if (tasks <= 1 || threads == 1) {
    for (int64_t i = 0; i < tasks; ++i) run(body, i);
    return;
  }
  if (open_team != nullptr && tasks < Team::kMostTasks) {
    return open_team->run(threads, tasks, run, body);
  }
  // Under a limit, that many workers take tasks from a queue; otherwise TBB
  // distributes the tasks.
  const bool limited = threads < num_threads() && threads < tasks;
  std::atomic<int64_t> next = 0;
  const Fence start;
  const Fence end;
  start.release();
  // Isolated: a waiting thread would otherwise run tasks of other loops under
  // its own guards (NoGradGuard, recorders).
  const auto loop = [&] {
    tbb::parallel_for(
        tbb::blocked_range<int64_t>(0, limited ? threads : tasks, 1),
        [&](const tbb::blocked_range<int64_t>& range) {
          start.acquire();
          const ReleaseAtEnd task{end};
          // A nested loop would interleave with others on this thread and
          // overwrite its scratch memory.
          const SerialGuard guard;
          if (limited) {
            try {
              for (int64_t i = next++; i < tasks; i = next++) run(body, i);
            } catch (...) {
              next = tasks;  // stops all workers
              throw;
            }
          } else {
            for (int64_t i = range.begin(); i < range.end(); ++i) run(body, i);
          }
        },
        tbb::simple_partitioner{});
  };
  const AcquireAtEnd all{end};
  workers()->arena.execute([&] { tbb::this_task_arena::isolate(loop); });
}

}  // namespace octet
