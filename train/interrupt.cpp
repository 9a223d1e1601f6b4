#include "interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace octet::train {
namespace {

std::atomic<int64_t> interrupts{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// Ctrl-C; what schedulers of clusters and mpirun send before they kill.
constexpr int kSignals[] = {SIGINT, SIGTERM};

/// Whether a signal does `handler` now.
bool handled_by(int signal, void (*handler)(int)) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

void replace_handler(void (*from)(int), void (*to)(int)) {
  for (const int signal : kSignals) {
    if (!handled_by(signal, from)) continue;
    struct sigaction action = {};
    action.sa_handler = to;
    action.sa_flags = SA_RESTART;
    sigaction(signal, &action, nullptr);
  }
}

extern "C" void on_interrupt(int) {
  ++interrupts;
  replace_handler(on_interrupt, SIG_DFL);
}

struct Guards {
  std::mutex mutex;
  int count = 0;
};

Guards& guards() {
  static Guards all;
  return all;
}

}  // namespace

InterruptGuard::InterruptGuard() : before_(interrupts) {
  const std::lock_guard lock(guards().mutex);
  ++guards().count;
  replace_handler(SIG_DFL, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards().mutex);
  if (--guards().count == 0) replace_handler(on_interrupt, SIG_DFL);
}

bool InterruptGuard::requested() const { return interrupts != before_; }

}  // namespace octet::train
