#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

#include "../support.h"

namespace octet {
namespace {

TEST(Shape, CountsItsElements) {
  EXPECT_EQ(Shape({2, 3, 5}).size(), 30);
  EXPECT_EQ(Shape{}.size(), 1);
  EXPECT_EQ(Shape({4, 0, 7}).size(), 0);
}

TEST(Shape, IndexesFromTheEndToo) {
  const Shape s{2, 3, 5};
  EXPECT_EQ(s[0], 2);
  EXPECT_EQ(s[-1], 5);
  EXPECT_EQ(s[-3], 2);
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)s[3]; }),
            (Failure{"out_of_range", "axis"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)s[-4]; }),
            (Failure{"out_of_range", "axis"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)Shape{}[0]; }),
            (Failure{"out_of_range", "axis"}));
}

TEST(Shape, PrintsTheBatchAsN) {
  EXPECT_EQ(Shape({Shape::kAnySize, 28, 28, 1}).to_string(), "[N,28,28,1]");
  EXPECT_EQ(Shape{}.to_string(), "[]");
}

TEST(Shape, RejectsInvalidDimensions) {
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Shape({2, -2});
            }),
            (Failure{"invalid_shape", "shape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Shape({1, 1, 1, 1, 1, 1, 1, 1, 1});
            }),
            (Failure{"invalid_shape", "shape"}));
  EXPECT_NO_THROW(Shape({1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(Shape, DetectsOverflowAndUnknownSizes) {
  const int64_t big = int64_t{1} << 32;
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Shape({big, big}).size();
            }),
            (Failure{"invalid_shape", "shape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Shape({Shape::kAnySize, 3}).size();
            }),
            (Failure{"invalid_shape", "shape"}));
}

TEST(Shape, ReplacesAndSlices) {
  const Shape s{2, 3, 5};
  EXPECT_EQ(s.with(-1, 7), (Shape{2, 3, 7}));
  EXPECT_EQ(s.slice(1, 3), (Shape{3, 5}));
  EXPECT_EQ(s.slice(1, 1), Shape{});
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)s.with(3, 1); }),
            (Failure{"out_of_range", "axis"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)s.slice(2, 1); }),
            (Failure{"out_of_range", "shape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)s.slice(0, 4); }),
            (Failure{"out_of_range", "shape"}));
}

}  // namespace
}  // namespace octet
