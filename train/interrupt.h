// Ctrl-C and SIGTERM while a fit runs. Internal to train.
#pragma once

#include <cstdint>

namespace octet::train {

/// While one lives, the first SIGINT or SIGTERM asks all fits that run for
/// their end and the next one ends the process, as without it. A handler that
/// the program has, or that it puts in place meanwhile, stays.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether the end was asked for since.
  bool requested() const;

 private:
  int64_t before_;  // interrupts
};

}  // namespace octet::train
