#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(Permute, TransposesTheAxesOfSamples) {
  const Tensor x = Tensor::of<float>({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor y = infer(Permute({.dims = {2, 1}}), x);
  EXPECT_EQ(y.shape(), Shape({1, 3, 2}));
  EXPECT_EQ(values(y), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Permute, ComputesItsOutputShape) {
  EXPECT_EQ(Permute({.dims = {3, 1, 2}})(input({4, 6, 3})).shape(),
            Shape({kN, 3, 4, 6}));
}

TEST(Permute, RejectsDimsOtherThanPermutations) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)Permute({.dims = {1, 3}});
            }),
            (Failure{"invalid_value", "dims"}));
  EXPECT_THROW((void)Permute({.dims = {1, 1}}), ValueError);
  EXPECT_THROW((void)Permute({.dims = {0, 1}}), ValueError);
}

TEST(Permute, RejectsSamplesOfAnotherRank) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)Permute({.dims = {2, 1}})(input({2, 3, 4}));
            }),
            (Failure{"shape_mismatch", "input"}));
}

TEST(Permute, RoundTripsThroughItsConfiguration) {
  const Config config = Permute({.dims = {3, 1, 2}})->config();
  EXPECT_EQ(create_layer("Permute", config)->config(), config);
}

}  // namespace
}  // namespace octet
