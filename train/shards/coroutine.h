// A function that can wait in its middle. Internal to train.
#pragma once

#include <exception>
#include <functional>
#include <memory>

namespace octet::train {

/// Runs a function on a stack of its own and on the caller's thread: control
/// goes to it with resume() and comes back when it waits or ends. It must not
/// wait within a catch block, nor while something of the thread's is changed
/// for a time (NoGradGuard). Belongs to one thread.
class Coroutine {
 public:
  /// Throws: std::bad_alloc without memory for a stack.
  Coroutine();
  /// Cancels the function if it waits.
  ~Coroutine();
  Coroutine(const Coroutine&) = delete;
  Coroutine& operator=(const Coroutine&) = delete;

  /// Sets what the first resume() begins. REQUIRES: the last one has ended.
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

  std::function<void()> body_;
  std::exception_ptr error_;
  bool waits_ = false;
  bool cancelled_ = false;
  std::unique_ptr<Stacks> stacks_;
};

}  // namespace octet::train
