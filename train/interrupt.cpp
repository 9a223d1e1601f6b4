#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace octet::train {
namespace {

std::atomic<bool> in_use{false};
volatile std::sig_atomic_t interrupted = 0;

extern "C" void on_interrupt(int signal) {
  interrupted = 1;
  std::signal(signal, SIG_DFL);
}

}  // namespace

InterruptGuard::InterruptGuard() {
  // Of several fits at once the first one has it.
  if (in_use.exchange(true)) return;
  interrupted = 0;
  const auto before = std::signal(SIGINT, on_interrupt);
  installed_ = before == SIG_DFL;
  if (!installed_) {
    std::signal(SIGINT, before);
    in_use = false;
  }
}

InterruptGuard::~InterruptGuard() {
  if (!installed_) return;
  std::signal(SIGINT, SIG_DFL);
  in_use = false;
}

bool InterruptGuard::requested() const {
  return installed_ && interrupted != 0;
}

}  // namespace octet::train
