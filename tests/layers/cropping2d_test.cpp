#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(Cropping2D, RemovesPixelsAroundEachImage) {
  const Tensor x = integers({2, 3, 4, 3});
  const Tensor y = infer(Cropping2D({.cropping = {1, 1, 2, 0}}), x);
  EXPECT_EQ(y.shape(), Shape({2, 1, 2, 3}));
  const auto from = values(x);
  const auto to = values(y);
  EXPECT_EQ(Floats(to.begin(), to.begin() + 6),
            Floats(from.begin() + 18, from.begin() + 24));
}

TEST(Cropping2D, CropsNothingByDefault) {
  EXPECT_EQ(Cropping2D()(input({4, 6, 3})).shape(), Shape({kN, 4, 6, 3}));
}

TEST(Cropping2D, RejectsCroppingTheWholeImage) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)Cropping2D({.cropping = {2, 2, 0, 0}})(input({4, 6, 3}));
            }),
            (Failure{"out_of_range", "cropping"}));
  EXPECT_THROW((void)Cropping2D({.cropping = {-1, 0, 0, 0}}), ValueError);
  EXPECT_THROW(Cropping2D()(input({3})), ShapeError);
}

TEST(Cropping2D, RoundTripsThroughItsConfiguration) {
  const Config config = Cropping2D({.cropping = {1, 2, 3, 4}})->config();
  EXPECT_EQ(create_layer("Cropping2D", config)->config(), config);
}

}  // namespace
}  // namespace octet
