// Parallel loops in quick succession.
#pragma once

#include <cstdint>

namespace octet {

/// For its lifetime, helper threads share the parallel loops of this thread and
/// spin between them: a loop starts in a fraction of a microsecond instead of
/// several. For loops that follow each other within microseconds, as the steps
/// of a program do. No effect in a serial loop or another region. Inside,
/// SerialGuard applies, other limits do not.
class ParallelRegion {
 public:
  ParallelRegion();
  ~ParallelRegion();
  ParallelRegion(const ParallelRegion&) = delete;
  ParallelRegion& operator=(const ParallelRegion&) = delete;

 private:
  bool opened_;
};

namespace detail {

/// Runs a loop in the open region of this thread. Returns false without one.
bool run_in_region(int64_t threads, int64_t tasks,
                   void (*run)(const void*, int64_t), const void* body);

}  // namespace detail

}  // namespace octet
