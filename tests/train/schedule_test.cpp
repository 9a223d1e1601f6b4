#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/schedule.h>

namespace octet::train {
namespace {

TEST(Constant, IsOneAtEveryStep) {
  const Schedule schedule = constant();
  EXPECT_EQ(schedule(0, 1), 1.0f);
  EXPECT_EQ(schedule(999, 1000), 1.0f);
}

TEST(Cosine, FallsFromOneThroughOneHalfTowardsZero) {
  const Schedule schedule = cosine();
  EXPECT_EQ(schedule(0, 100), 1.0f);
  // (1 + cos(pi/4)) / 2 and (1 + cos(3 pi/4)) / 2, with cos = sqrt(1/2).
  EXPECT_FLOAT_EQ(schedule(25, 100), 0.853553391f);
  EXPECT_FLOAT_EQ(schedule(50, 100), 0.5f);
  EXPECT_FLOAT_EQ(schedule(75, 100), 0.146446609f);
  // 1 - cos(x) is x^2/2 near 0: (pi/100)^2 / 4 with the next term.
  EXPECT_NEAR(schedule(99, 100), 2.4671981713e-4, 1e-9);
}

TEST(Cosine, NeverRises) {
  const Schedule schedule = cosine({.floor = 0.1f});
  for (int64_t step = 1; step < 1000; ++step) {
    EXPECT_LE(schedule(step, 1000), schedule(step - 1, 1000));
  }
}

TEST(Cosine, EndsAtTheFloor) {
  const Schedule schedule = cosine({.floor = 0.2f});
  EXPECT_EQ(schedule(0, 2), 1.0f);
  EXPECT_FLOAT_EQ(schedule(1, 2), 0.6f);
  EXPECT_NEAR(schedule(999'999, 1'000'000), 0.2, 1e-6);
}

TEST(Cosine, IsOneForASingleStep) { EXPECT_EQ(cosine()(0, 1), 1.0f); }

TEST(Cosine, IsConstantWithAFloorOfOne) {
  EXPECT_EQ(cosine({.floor = 1.0f})(73, 100), 1.0f);
}

TEST(Cosine, RefusesAFloorOutsideZeroToOne) {
  EXPECT_NO_THROW(cosine({.floor = 0.0f}));
  EXPECT_THROW(cosine({.floor = -0.01f}), ValueError);
  EXPECT_THROW(cosine({.floor = 1.01f}), ValueError);
  EXPECT_THROW(cosine({.floor = std::numeric_limits<float>::quiet_NaN()}),
               ValueError);
}

}  // namespace
}  // namespace octet::train
