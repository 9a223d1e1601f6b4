#include "distributed/coroutine.h"

#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/parallel.h>
#include <octet/runtime/variable.h>

namespace octet::train {
namespace {

TEST(Coroutine, AlternatesWithItsCaller) {
  Coroutine run;
  std::string order;
  for (int round = 0; round < 3; ++round) {
    run.start([&] {
      order += 'a';
      run.wait();
      order += 'b';
      run.wait();
      order += 'c';
    });
    EXPECT_TRUE(run.resume());
    order += '1';
    EXPECT_TRUE(run.resume());
    order += '2';
    EXPECT_FALSE(run.resume());
  }
  EXPECT_EQ(order, "a1b2ca1b2ca1b2c");
}

TEST(Coroutine, PropagatesExceptionsToItsCaller) {
  Coroutine run;
  run.start([&] {
    run.wait();
    throw std::runtime_error("enough");
  });
  EXPECT_TRUE(run.resume());
  EXPECT_THROW(run.resume(), std::runtime_error);
  run.cancel();
  run.start([] {});
  EXPECT_FALSE(run.resume());
}

TEST(Coroutine, UnwindsItsStackWhenCancelled) {
  struct Guard {
    explicit Guard(int& count) : alive(++count) {}
    ~Guard() { --alive; }
    int& alive;
  };
  int alive = 0;
  {
    Coroutine run;
    const auto body = [&] {
      const Guard guard(alive);
      run.wait();
      ADD_FAILURE() << "it was cancelled";
    };
    run.start(body);
    EXPECT_TRUE(run.resume());
    EXPECT_EQ(alive, 1);
    run.cancel();
    EXPECT_EQ(alive, 0);
    run.start(body);
    EXPECT_TRUE(run.resume());
  }
  EXPECT_EQ(alive, 0);
  const Coroutine never;
}

TEST(Coroutine, DoesNotWaitAfterCancellation) {
  Coroutine run;
  int caught = 0;
  run.start([&] {
    for (int i = 0; i < 3; ++i) {
      try {
        run.wait();
      } catch (...) {
        ++caught;
      }
    }
  });
  EXPECT_TRUE(run.resume());
  run.cancel();
  EXPECT_EQ(caught, 3);
}

TEST(Coroutine, HasItsOwnThreadModes) {
  Coroutine run;
  const auto body = [&] {
    const NoGradGuard no_grad;
    const SerialGuard serial;
    run.wait();
    EXPECT_FALSE(grad_enabled());
    EXPECT_EQ(available_threads(), 1);
  };
  const int threads = available_threads();
  run.start(body);
  EXPECT_TRUE(run.resume());
  EXPECT_TRUE(grad_enabled());
  EXPECT_EQ(available_threads(), threads);
  EXPECT_FALSE(run.resume());
  EXPECT_TRUE(grad_enabled());
  run.start(body);
  EXPECT_TRUE(run.resume());
  run.cancel();
  EXPECT_TRUE(grad_enabled());
}

}  // namespace
}  // namespace octet::train
