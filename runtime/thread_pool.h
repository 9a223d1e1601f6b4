// Threads of parallel_for(): TBB's (thread_pool_tbb.cpp), or in libraries that
// do not link TBB, Octet's (thread_pool.cpp).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace octet {

/// A pool of threads.
class ThreadPool {
 public:
  using Task = void (*)(const void* body, int64_t index);

  /// Number of threads, including the thread that runs a loop.
  explicit ThreadPool(int threads);
  ~ThreadPool();

  /// Runs `function` on a thread of the pool when one is idle.
  void enqueue(std::function<void()> function);
  /// Runs task(body, i) for i in [0, tasks) on at most `threads` threads, the
  /// calling one included, and waits. Rethrows an exception of a task. Tasks
  /// run within a SerialGuard. The calling thread runs no other tasks.
  void run(int64_t threads, int64_t tasks, Task task, const void* body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// The pool of parallel_for(), with num_threads() threads.
ThreadPool& thread_pool();

}  // namespace octet
