#include "interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace octet::train {
namespace {

std::atomic<int64_t> interrupts{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);

extern "C" void on_interrupt(int) {
  ++interrupts;
  struct sigaction standard = {};
  standard.sa_handler = SIG_DFL;
  sigaction(SIGINT, &standard, nullptr);
}

struct Guards {
  std::mutex mutex;
  int count = 0;
};

Guards& guards() {
  static Guards all;
  return all;
}

/// Whether SIGINT does `handler` now.
bool handled_by(void (*handler)(int)) {
  struct sigaction now = {};
  sigaction(SIGINT, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

void handle_by(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
}

}  // namespace

InterruptGuard::InterruptGuard() : before_(interrupts) {
  const std::lock_guard lock(guards().mutex);
  ++guards().count;
  if (handled_by(SIG_DFL)) handle_by(on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards().mutex);
  if (--guards().count == 0 && handled_by(on_interrupt)) handle_by(SIG_DFL);
}

bool InterruptGuard::requested() const { return interrupts != before_; }

}  // namespace octet::train
