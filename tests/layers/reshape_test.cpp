#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
constexpr int64_t kN = Shape::kAnySize;

TEST(Reshape, KeepsTheOrderOfValues) {
  const Tensor x = integers({2, 2, 3, 5});
  const Tensor y = infer(Reshape({.target_shape = {5, 6}}), x);
  EXPECT_EQ(y.shape(), Shape({2, 5, 6}));
  EXPECT_EQ(values(y), values(x));
}

TEST(Reshape, WorksOutOneOpenSize) {
  EXPECT_EQ(Reshape({.target_shape = {-1}})(input({2, 3, 5})).shape(),
            Shape({kN, 30}));
  EXPECT_EQ(Reshape({.target_shape = {3, -1, 2}})(input({2, 3, 5})).shape(),
            Shape({kN, 3, 5, 2}));
  EXPECT_EQ(Reshape({.target_shape = {1, 1, -1}})(input({17})).shape(),
            Shape({kN, 1, 1, 17}));
}

TEST(Reshape, TakesABatchOfOneAndSamplesWithoutAxes) {
  EXPECT_EQ(infer(Reshape({.target_shape = {-1}}), integers({1, 3, 1})).shape(),
            Shape({1, 3}));
  EXPECT_EQ(Reshape()(input({1})).shape(), Shape({kN}));
  EXPECT_EQ(Reshape({.target_shape = {1, 1}})(input({})).shape(),
            Shape({kN, 1, 1}));
}

TEST(Reshape, RefusesTwoOpenSizesAndSizesBelowOne) {
  EXPECT_THAT(error_of<ValueError>([] {
                (void)Reshape({.target_shape = {-1, 2, -1}});
              }),
              HasSubstr("at most one -1, got (-1,2,-1)"));
  EXPECT_THROW((void)Reshape({.target_shape = {0}}), ValueError);
  EXPECT_THROW((void)Reshape({.target_shape = {-2}}), ValueError);
}

TEST(Reshape, RefusesSamplesOfAnotherSize) {
  const auto refusal = [](std::vector<int64_t> shape) {
    return error_of<ShapeError>([&] {
      (void)Reshape({.target_shape = std::move(shape)})(input({2, 3, 5}));
    });
  };
  EXPECT_THAT(refusal({7, 4}),
              HasSubstr("the 30 values of a sample of [N,2,3,5], got (7,4)"));
  EXPECT_THAT(refusal({-1, 4}), HasSubstr("got (-1,4)"));
  EXPECT_THAT(refusal({INT64_MAX, INT64_MAX}), HasSubstr("30 values"));
  EXPECT_THAT(refusal({-1, 60}), HasSubstr("got (-1,60)"));
}

TEST(Reshape, ComesBackFromItsConfiguration) {
  const Config config = Reshape({.target_shape = {-1, 2}})->config();
  EXPECT_EQ(create_layer("Reshape", config)->config(), config);
  EXPECT_EQ(config.at("target_shape").as_list()[1].as_int(), 2);
}

}  // namespace
}  // namespace octet
