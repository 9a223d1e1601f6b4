// The only user of TBB.
#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "parallel_region.h"
#include "worker_pool.h"

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

void detail::enqueue(void (*task)(void*), void* argument) {
#ifdef OCTET_ANNOTATE_THREADS
  __tsan_release(argument);
#endif
  workers()->arena.enqueue([task, argument] {
#ifdef OCTET_ANNOTATE_THREADS
    __tsan_acquire(argument);
#endif
    task(argument);
  });
}

void detail::parallel_for(int64_t tasks, void (*run)(const void*, int64_t),
                          const void* body) {
  const int64_t threads = available_threads();
  if (tasks <= 1 || threads == 1) {
    for (int64_t i = 0; i < tasks; ++i) run(body, i);
    return;
  }
  if (run_in_region(threads, tasks, run, body)) return;
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
