#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(Permute, MovesTheAxesOfSamples) {
  const Tensor x = Tensor::of<float>({1, 2, 3}, {0, 1, 2, 3, 4, 5});
  const Tensor y = infer(Permute({.dims = {2, 1}}), x);
  EXPECT_EQ(y.shape(), Shape({1, 3, 2}));
  EXPECT_EQ(values(y), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Permute, TellsItsOutputShape) {
  EXPECT_EQ(Permute({.dims = {3, 1, 2}})(input({4, 6, 3})).shape(),
            Shape({kN, 3, 4, 6}));
}

TEST(Permute, RefusesWhatIsNoPermutation) {
  EXPECT_THAT(error_of<ValueError>([] {
                (void)Permute({.dims = {1, 3}});
              }),
              HasSubstr("dims: expected a permutation of 1 to 2, got (1,3)"));
  EXPECT_THROW((void)Permute({.dims = {1, 1}}), ValueError);
  EXPECT_THROW((void)Permute({.dims = {0, 1}}), ValueError);
}

TEST(Permute, RefusesSamplesOfAnotherRank) {
  EXPECT_THAT(error_of<ShapeError>([] {
                (void)Permute({.dims = {2, 1}})(input({2, 3, 4}));
              }),
              HasSubstr("samples of 2 axes, as dims has, got [N,2,3,4]"));
}

TEST(Permute, ComesBackFromItsConfiguration) {
  const Config config = Permute({.dims = {3, 1, 2}})->config();
  EXPECT_EQ(create_layer("Permute", config)->config(), config);
}

}  // namespace
}  // namespace octet
