// Ctrl-C while a fit runs. Internal to train.
#pragma once

namespace octet::train {

/// While it lives, the first SIGINT asks for the end and the next one ends the
/// process, as without it. Does nothing where the program has a handler of its
/// own, or ignores the signal.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  /// Whether the end was asked for since.
  bool requested() const;

 private:
  bool installed_ = false;
};

}  // namespace octet::train
