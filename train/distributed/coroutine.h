// Coroutine: a function that can suspend itself. Internal to train.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include <octet/runtime/detail/thread_modes.h>

namespace octet::train {

/// Runs a function on a separate stack in the caller's thread. resume()
/// switches to it and returns when the function waits or ends. The function has
/// its own ThreadModes. It must not wait inside a catch block. Bound to a
/// single thread.
class Coroutine {
 public:
  /// Throws: std::bad_alloc if no stack can be allocated.
  Coroutine();
  /// Cancels the function if it is waiting.
  ~Coroutine();
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  /// Sets the function that the first resume() starts, with the thread's
  /// current modes. REQUIRES: the previous function has ended.
  void start(std::function<void()> body);
  /// Continues the function. Returns true if it waits, false if it has ended.
  /// Throws: an exception of the function, which has then ended.
  bool resume();
  /// Ends a waiting function by an exception in its wait().
  void cancel();

  /// Suspends the function until the next resume(). Call it from the function.
  void wait();

 private:
  struct Stacks;

  void run();  // never returns
  void switch_to_own();

  std::function<void()> body_;
  ThreadModes modes_;  // while it waits
  std::exception_ptr error_;
  bool waits_ = false;
  bool cancelled_ = false;
  std::unique_ptr<Stacks> stacks_;
};

}  // namespace octet::train
