#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/learning_rate.h>

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

TEST(Cosine, RejectsAFloorOutsideZeroToOne) {
  EXPECT_NO_THROW(cosine({.floor = 0.0f}));
  EXPECT_THROW(cosine({.floor = -0.01f}), ValueError);
  EXPECT_THROW(cosine({.floor = 1.01f}), ValueError);
  EXPECT_THROW(cosine({.floor = std::numeric_limits<float>::quiet_NaN()}),
               ValueError);
}

TEST(Piecewise, ChangesAtItsBoundaries) {
  const Schedule schedule =
      piecewise({.boundaries = {3, 5}, .factors = {1, 0.5f, 0.25f}});
  EXPECT_EQ(schedule(0, 10), 1.0f);
  EXPECT_EQ(schedule(2, 10), 1.0f);
  EXPECT_EQ(schedule(3, 10), 0.5f);
  EXPECT_EQ(schedule(4, 10), 0.5f);
  EXPECT_EQ(schedule(5, 10), 0.25f);
  EXPECT_EQ(schedule(9, 10), 0.25f);
}

TEST(Piecewise, ReachesEpochBoundariesGivenAsShares) {
  // 7 epochs of 30 steps: epoch e begins at share e / 7.
  for (int epoch = 1; epoch < 7; ++epoch) {
    const Schedule schedule = piecewise({.boundaries = {epoch / 7.0},
                                         .factors = {1, 0},
                                         .unit = ScheduleUnit::share});
    EXPECT_EQ(schedule(30 * epoch - 1, 210), 1.0f);
    EXPECT_EQ(schedule(30 * epoch, 210), 0.0f);
  }
}

TEST(Piecewise, RejectsInvalidBoundariesAndFactors) {
  EXPECT_NO_THROW(piecewise({}));
  EXPECT_THROW(piecewise({.boundaries = {1}}), ValueError);
  EXPECT_THROW(piecewise({.boundaries = {2, 2}, .factors = {1, 1, 1}}),
               ValueError);
  EXPECT_THROW(piecewise({.boundaries = {0}, .factors = {1, 1}}), ValueError);
  EXPECT_THROW(piecewise({.factors = {-1}}), ValueError);
  EXPECT_THROW(piecewise({.factors = {std::nanf("")}}), ValueError);
}

TEST(StepDecay, FallsEveryNSteps) {
  const Schedule schedule = step_decay({.gamma = 0.5f, .every = 3});
  EXPECT_EQ(schedule(2, 10), 1.0f);
  EXPECT_EQ(schedule(3, 10), 0.5f);
  EXPECT_EQ(schedule(6, 10), 0.25f);
  // Once per epoch, for three epochs.
  const Schedule shares = step_decay(
      {.gamma = 0.5f, .every = 1.0 / 3, .unit = ScheduleUnit::share});
  EXPECT_EQ(shares(6, 21), 1.0f);
  EXPECT_EQ(shares(7, 21), 0.5f);
  EXPECT_EQ(shares(14, 21), 0.25f);
}

TEST(Exponential, FallsSmoothly) {
  const Schedule schedule = exponential({.gamma = 0.25f, .every = 4});
  EXPECT_EQ(schedule(0, 10), 1.0f);
  EXPECT_FLOAT_EQ(schedule(2, 10), 0.5f);
  EXPECT_FLOAT_EQ(schedule(8, 10), 0.0625f);
}

TEST(Decay, RejectsOptionsOutOfRange) {
  for (const auto& make : {step_decay, exponential}) {
    EXPECT_NO_THROW(make({.gamma = 1.0f}));
    EXPECT_THROW(make({.gamma = 0.0f}), ValueError);
    EXPECT_THROW(make({.gamma = 1.5f}), ValueError);
    EXPECT_THROW(make({.every = 0}), ValueError);
    EXPECT_THROW(make({.every = std::nan("")}), ValueError);
  }
}

TEST(Warmup, RisesLinearlyToTheNextSchedule) {
  const Schedule schedule = warmup({.length = 4}, cosine());
  for (int64_t step = 0; step < 4; ++step) {
    EXPECT_FLOAT_EQ(schedule(step, 14), static_cast<float>(step + 1) / 5);
  }
  for (int64_t step = 4; step < 14; ++step) {
    EXPECT_EQ(schedule(step, 14), cosine()(step - 4, 10));
  }
}

TEST(Warmup, SupportsAShareOfTheSteps) {
  const Schedule schedule =
      warmup({.length = 0.1, .unit = ScheduleUnit::share});
  EXPECT_FLOAT_EQ(schedule(2, 30), 0.75f);
  EXPECT_EQ(schedule(3, 30), 1.0f);
}

TEST(Warmup, MayBeEmptyOrAsLongAsTheTraining) {
  EXPECT_EQ(warmup({}, cosine())(0, 5), 1.0f);
  const Schedule schedule = warmup({.length = 1000}, cosine());
  EXPECT_FLOAT_EQ(schedule(4, 5), 5.0f / 6.0f);
}

TEST(Warmup, RejectsOptionsOutOfRange) {
  EXPECT_THROW(warmup({.length = -1}), ValueError);
  EXPECT_THROW(warmup({.length = 5, .unit = ScheduleUnit::share}), ValueError);
  EXPECT_THROW(warmup({.length = 5}, Schedule()), ValueError);
}

}  // namespace
}  // namespace octet::train
