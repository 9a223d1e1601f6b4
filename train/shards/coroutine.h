// A function that can wait in its middle. Internal to train.
#pragma once

#include <exception>
#include <functional>
#include <memory>

#include <octet/runtime/thread_modes.h>

namespace octet::train {

/// Runs a function on a stack of its own and on the caller's thread: control
/// goes to it with resume() and comes back when it waits or ends; what guards
/// switch on (ThreadModes) goes and comes with it. It must not wait within a
/// catch block. Belongs to one thread.
class Coroutine {
 public:
  /// Throws: std::bad_alloc without memory for a stack.
  Coroutine();
  /// Cancels the function if it waits.
  ~Coroutine();
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  /// Sets what the first resume() begins, with the modes that the thread has
  /// now. REQUIRES: the last one has ended.
  void start(std::function<void()> body);
  /// Lets it run on. Whether it waits; otherwise it has ended.
  /// Throws: what it threw, after which it has ended.
  bool resume();
  /// Ends it, if it waits, by an exception there.
  void cancel();

  /// For the function: gives control back until the next resume().
  void wait();

 private:
  struct Stacks;

  void run();  // without end
  void switch_to_own();

  std::function<void()> body_;
  ThreadModes modes_;  // while it waits
  std::exception_ptr error_;
  bool waits_ = false;
  bool cancelled_ = false;
  std::unique_ptr<Stacks> stacks_;
};

}  // namespace octet::train
