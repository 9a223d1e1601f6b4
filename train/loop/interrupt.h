// Handling of Ctrl-C and SIGTERM during a fit. Internal to train.
#pragma once

#include <cstdint>

namespace octet::train {

/// During its lifetime, SIGINT or SIGTERM requests the end of all running fits;
/// a second SIGINT ends the process. Signal handlers that the program has or
/// installs meanwhile take precedence.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether a signal arrived since the construction.
  bool requested() const;

 private:
  int64_t before_;  // signal count at construction
};

}  // namespace octet::train
