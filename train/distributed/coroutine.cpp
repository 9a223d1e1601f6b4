#include "coroutine.h"

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include <sys/mman.h>
#include <ucontext.h>

// Sanitizers must be notified of stack switches.
#if defined(__SANITIZE_ADDRESS__)
#define OCTET_ADDRESS_SANITIZER
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OCTET_ADDRESS_SANITIZER
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define OCTET_THREAD_SANITIZER
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define OCTET_THREAD_SANITIZER
#endif
#endif
#ifdef OCTET_ADDRESS_SANITIZER
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef OCTET_THREAD_SANITIZER
#include <sanitizer/tsan_interface.h>
#endif

namespace octet::train {
namespace {

struct Cancelled {};

// Default stack size of a thread. Pages are allocated on use.
constexpr size_t kStack = size_t{8} << 20;
constexpr size_t kGuard = size_t{64} << 10;  // guard pages below the stack

}  // namespace

struct Coroutine::Stacks {
  /// A stack with the context of its suspended code.
  struct Stack {
    ucontext_t context = {};
    const void* low = nullptr;
    size_t size = 0;
#ifdef OCTET_ADDRESS_SANITIZER
    void* fake = nullptr;
#endif
#ifdef OCTET_THREAD_SANITIZER
    void* fiber = nullptr;
#endif
  };

  Stacks() {
    memory = ::mmap(nullptr, kGuard + kStack, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)::mprotect(memory, kGuard, PROT_NONE);
    own.low = static_cast<char*>(memory) + kGuard;
    own.size = kStack;
#ifdef OCTET_THREAD_SANITIZER
    own.fiber = __tsan_create_fiber(0);
#endif
  }
  ~Stacks() {
#ifdef OCTET_THREAD_SANITIZER
    __tsan_destroy_fiber(own.fiber);
#endif
    ::munmap(memory, kGuard + kStack);
  }
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;

  /// Returns when another switch resumes `from`.
  static void switch_stack(Stack& from, Stack& to) {
#ifdef OCTET_THREAD_SANITIZER
    from.fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to.fiber, 0);
#endif
#ifdef OCTET_ADDRESS_SANITIZER
    __sanitizer_start_switch_fiber(&from.fake, to.low, to.size);
#endif
    ::swapcontext(&from.context, &to.context);
#ifdef OCTET_ADDRESS_SANITIZER
    __sanitizer_finish_switch_fiber(from.fake, nullptr, nullptr);
#endif
  }

  /// Makes the next switch to `own` start run().
  void prepare(Coroutine* coroutine) {
    ::getcontext(&own.context);
    own.context.uc_stack.ss_sp = const_cast<void*>(own.low);
    own.context.uc_stack.ss_size = own.size;
    own.context.uc_link = nullptr;
    // makecontext() passes int arguments, so the pointer is split.
    const auto address = reinterpret_cast<uintptr_t>(coroutine);
    const auto entry = +[](unsigned high, unsigned low) {
      reinterpret_cast<Coroutine*>(uintptr_t{high} << 32 | uintptr_t{low})
          ->run();
    };
    ::makecontext(&own.context, reinterpret_cast<void (*)()>(entry), 2,
                  static_cast<unsigned>(uint64_t{address} >> 32),
                  static_cast<unsigned>(address));
    begun = true;
  }

  void* memory = nullptr;
  Stack own;
  Stack caller;
  bool begun = false;
};

Coroutine::Coroutine() : stacks_(std::make_unique<Stacks>()) {}

Coroutine::~Coroutine() { cancel(); }

void Coroutine::run() {
#ifdef OCTET_ADDRESS_SANITIZER
  __sanitizer_finish_switch_fiber(nullptr, &stacks_->caller.low,
                                  &stacks_->caller.size);
#endif
  for (;;) {
    try {
      body_();
    } catch (const Cancelled&) {
    } catch (...) {
      error_ = std::current_exception();
    }
    waits_ = false;
    Stacks::switch_stack(stacks_->own, stacks_->caller);
  }
}

void Coroutine::start(std::function<void()> body) {
  body_ = std::move(body);
  modes_ = thread_modes();
  cancelled_ = false;
}

void Coroutine::switch_to_own() {
  std::swap(thread_modes(), modes_);
  Stacks::switch_stack(stacks_->caller, stacks_->own);
  std::swap(thread_modes(), modes_);
}

bool Coroutine::resume() {
  if (!stacks_->begun) stacks_->prepare(this);
  switch_to_own();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
  return waits_;
}

void Coroutine::cancel() {
  if (!waits_) return;
  cancelled_ = true;
  switch_to_own();
  error_ = nullptr;
}

void Coroutine::wait() {
  // After a cancellation, code that caught the exception must not wait again.
  if (!cancelled_) {
    waits_ = true;
    Stacks::switch_stack(stacks_->own, stacks_->caller);
  }
  if (cancelled_) throw Cancelled();
}

}  // namespace octet::train
