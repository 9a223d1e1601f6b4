// The only user of TBB.
#include <atomic>
#include <cstddef>
#include <utility>

#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <octet/runtime/parallel.h>

#include "thread_pool.h"

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

const Fence enqueued;

}  // namespace

// By default TBB creates at most as many threads as cores.
struct ThreadPool::Impl {
  explicit Impl(int count)
      : limit(tbb::global_control::max_allowed_parallelism,
              static_cast<size_t>(count)),
        arena(count),
        threads(count) {}
  tbb::global_control limit;
  tbb::task_arena arena;
  int64_t threads;
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}
ThreadPool::~ThreadPool() = default;

void ThreadPool::enqueue(std::function<void()> function) {
  enqueued.release();
  impl_->arena.enqueue([function = std::move(function)] {
    enqueued.acquire();
    function();
  });
}

// Under a limit, that many workers take tasks from a queue; otherwise TBB
// distributes the tasks.
void ThreadPool::run(int64_t threads, int64_t tasks, Task task,
                     const void* body) {
  const bool limited = threads < impl_->threads && threads < tasks;
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
          const ReleaseAtEnd at_end{end};
          // A nested loop would interleave with others on this thread and
          // overwrite its scratch memory.
          const SerialGuard guard;
          if (limited) {
            try {
              for (int64_t i = next++; i < tasks; i = next++) task(body, i);
            } catch (...) {
              next = tasks;  // stops all workers
              throw;
            }
          } else {
            for (int64_t i = range.begin(); i < range.end(); ++i) {
              task(body, i);
            }
          }
        },
        tbb::simple_partitioner{});
  };
  const AcquireAtEnd all{end};
  impl_->arena.execute([&] { tbb::this_task_arena::isolate(loop); });
}

}  // namespace octet
