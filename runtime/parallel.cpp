#include <algorithm>
#include <memory>
#include <thread>

#include <fmt/format.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "parallel_region.h"
#include "thread_pool.h"

namespace octet {
namespace {

std::unique_ptr<ThreadPool>& pool() {
  static auto instance = std::make_unique<ThreadPool>(num_threads());
  return instance;
}

int& thread_count() {
  static int count =
      std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  return count;
}

}  // namespace

ThreadPool& thread_pool() { return *pool(); }

int num_threads() { return thread_count(); }

void set_num_threads(int count) {
  if (count < 1) {
    throw ValueError("out_of_range", "threads",
                     fmt::format("needs a count of at least 1, got {}", count));
  }
  if (count == thread_count()) return;
  thread_count() = count;
  pool().reset();  // before the new pool: TBB combines limits
  pool() = std::make_unique<ThreadPool>(count);
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

void detail::parallel_for(int64_t tasks, void (*run)(const void*, int64_t),
                          const void* body) {
  const int64_t threads = available_threads();
  if (tasks <= 1 || threads == 1) {
    for (int64_t i = 0; i < tasks; ++i) run(body, i);
    return;
  }
  if (run_in_region(threads, tasks, run, body)) return;
  thread_pool().run(threads, tasks, run, body);
}

}  // namespace octet
