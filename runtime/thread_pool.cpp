#include "thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <octet/runtime/parallel.h>

namespace octet {
namespace {

// A loop whose tasks several threads claim one by one. Helpers that start after
// its end claim none; `body` exists while tasks are claimed.
class SharedLoop {
 public:
  SharedLoop(int64_t tasks, ThreadPool::Task task, const void* body)
      : tasks_(tasks), task_(task), body_(body) {}

  void work() {
    {
      const std::lock_guard lock(mutex_);
      ++active_;
    }
    {
      const SerialGuard guard;
      try {
        for (int64_t i = next_++; i < tasks_; i = next_++) task_(body_, i);
      } catch (...) {
        next_ = tasks_;  // stops all threads
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
    const std::lock_guard lock(mutex_);
    if (--active_ == 0) idle_.notify_all();
  }

  // To be called after work(): no task is unclaimed.
  void finish() {
    std::unique_lock lock(mutex_);
    idle_.wait(lock, [&] { return active_ == 0; });
    if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  }

 private:
  const int64_t tasks_;
  const ThreadPool::Task task_;
  const void* const body_;
  std::atomic<int64_t> next_ = 0;
  std::mutex mutex_;
  std::condition_variable idle_;
  int active_ = 0;  // threads in work()
  std::exception_ptr error_;
};

}  // namespace

// Threads start when they are first needed.
struct ThreadPool::Impl {
  explicit Impl(int count) : most(static_cast<size_t>(count - 1)) {}
  ~Impl() {
    {
      const std::lock_guard lock(mutex);
      stopping = true;
    }
    wake.notify_all();
    for (std::thread& thread : threads) thread.join();
  }

  // Without threads, callers run all tasks themselves.
  void start_thread() {
    try {
      threads.emplace_back([this] { serve(); });
    } catch (const std::system_error&) {
      if (threads.empty()) queue.clear();
    }
  }

  void serve() {
    std::unique_lock lock(mutex);
    for (;;) {
      ++idle;
      wake.wait(lock, [&] { return stopping || !queue.empty(); });
      --idle;
      if (queue.empty()) return;  // stopping
      std::function<void()> function = std::move(queue.front());
      queue.pop_front();
      lock.unlock();
      function();
      function = nullptr;
      lock.lock();
    }
  }

  const size_t most;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::function<void()>> queue;
  std::vector<std::thread> threads;
  size_t idle = 0;
  bool stopping = false;
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}
ThreadPool::~ThreadPool() = default;

void ThreadPool::enqueue(std::function<void()> function) {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->queue.push_back(std::move(function));
    const bool busy = impl_->idle < impl_->queue.size();
    if (busy && impl_->threads.size() < impl_->most) impl_->start_thread();
  }
  impl_->wake.notify_one();
}

void ThreadPool::run(int64_t threads, int64_t tasks, Task task,
                     const void* body) {
  const auto loop = std::make_shared<SharedLoop>(tasks, task, body);
  for (int64_t i = 1; i < std::min(threads, tasks); ++i) {
    enqueue([loop] { loop->work(); });
  }
  loop->work();
  loop->finish();
}

}  // namespace octet
