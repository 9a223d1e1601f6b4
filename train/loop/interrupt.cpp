#include "interrupt.h"

#include <atomic>
#include <csignal>
#include <mutex>

namespace octet::train {
namespace {

std::atomic<int64_t> interrupts{0};
static_assert(std::atomic<int64_t>::is_always_lock_free);

// SIGINT: Ctrl-C. SIGTERM: sent by cluster schedulers and mpirun before
// SIGKILL.
constexpr int kSignals[] = {SIGINT, SIGTERM};

/// Whether `handler` is the current handler of a signal.
bool handled_by(int signal, void (*handler)(int)) {
  struct sigaction now = {};
  sigaction(signal, nullptr, &now);
  return (now.sa_flags & SA_SIGINFO) == 0 && now.sa_handler == handler;
}

void replace_handler(int signal, void (*from)(int), void (*to)(int)) {
  if (!handled_by(signal, from)) return;
  struct sigaction action = {};
  action.sa_handler = to;
  action.sa_flags = SA_RESTART;
  sigaction(signal, &action, nullptr);
}

void replace_handlers(void (*from)(int), void (*to)(int)) {
  for (const int signal : kSignals) replace_handler(signal, from, to);
}

// The next Ctrl-C ends the program. SIGTERM does not, as mpirun and the
// scheduler may both send it; they follow with SIGKILL.
extern "C" void on_interrupt(int) {
  ++interrupts;
  replace_handler(SIGINT, on_interrupt, SIG_DFL);
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
  replace_handlers(SIG_DFL, on_interrupt);
}

InterruptGuard::~InterruptGuard() {
  const std::lock_guard lock(guards().mutex);
  if (--guards().count == 0) replace_handlers(on_interrupt, SIG_DFL);
}

bool InterruptGuard::requested() const { return interrupts != before_; }

}  // namespace octet::train
