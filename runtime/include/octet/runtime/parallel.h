// Parallel loops over one pool of threads. Work is cut by shape, never by the
// number of threads, so that results are the same bits for any number.
#pragma once

#include <cstdint>
#include <memory>

#include <octet/runtime/language.h>

namespace octet {

/// Threads used by parallel_for; the number of cores unless set.
int num_threads();
/// Throws: ValueError for count < 1. Not while a parallel_for runs.
void set_num_threads(int count);

/// Threads that a parallel_for started here would use: 1 within another one, no
/// more than a ThreadLimit.
int available_threads();

namespace detail {
void parallel_for(int64_t tasks, void (*run)(const void*, int64_t),
                  const void* body);
}

/// Runs `body(i)` for i in [0, tasks), in any order, and waits. Inside a
/// SerialGuard, and within another parallel_for, it is a plain loop.
/// An exception of a task reaches the caller.
template <class Body>
void parallel_for(int64_t tasks, const Body& body) {
  detail::parallel_for(
      tasks,
      [](const void* b, int64_t i) { (*static_cast<const Body*>(b))(i); },
      std::addressof(body));
}

/// Splits [0, n) into chunks by n alone, at most 16, and runs
/// `body(first, last, chunk)` for each.
constexpr int64_t chunk_count(int64_t n) { return n < 16 ? n : 16; }
template <class Body>
void parallel_chunks(int64_t n, const Body& body) {
  const int64_t chunks = chunk_count(n);
  parallel_for(chunks, [&](int64_t chunk) {
    body(n * chunk / chunks, n * (chunk + 1) / chunks, chunk);
  });
}

/// Fewer values are gone through before another thread wakes.
inline constexpr int64_t kFewValues = int64_t{1} << 14;

/// While it lives, parallel loops that this thread starts run on so many
/// threads at most, itself among them. Within another limit the smaller counts.
class ThreadLimit {
 public:
  /// 0: no limit.
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// While it lives, this thread runs its parallel loops by itself.
class SerialGuard : ThreadLimit {
 public:
  /// Does nothing unless `serial`.
  explicit SerialGuard(bool serial = true) : ThreadLimit(serial ? 1 : 0) {}
};

}  // namespace octet
