#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::HasSubstr;
using Floats = std::vector<float>;

TEST(Transpose, MovesAxes) {
  const Variable y = transpose(Variable(counting({2, 3})), {1, 0});
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_EQ(values(y), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const Variable x(counting({2, 3}));
  EXPECT_THROW(transpose(x, {0, 0}), ShapeError);
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)transpose(x, {0, 2});
              }),
              HasSubstr("axes (0,2) of [2,3]"));
  EXPECT_THROW(transpose(x, {0}), ShapeError);
}

TEST(Concatenate, PutsChannelsSideBySide) {
  const Variable y =
      concatenate({Variable(counting({1, 2, 1, 2})),
                   Variable(Tensor::of<float>({1, 2, 1, 1}, {8, 9}))},
                  -1);
  EXPECT_EQ(y.shape(), Shape({1, 2, 1, 3}));
  EXPECT_EQ(values(y), (Floats{0, 1, 8, 2, 3, 9}));
}

TEST(Concatenate, PutsRowsOneBelowTheOther) {
  const Variable x(counting({2, 2}));
  EXPECT_EQ(values(concatenate({x, x}, 0)), (Floats{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Concatenate, TakesEmptyParts) {
  const Variable x(counting({2, 2}));
  const Variable none(Tensor(Shape{2, 0}));
  EXPECT_EQ(values(concatenate({none, x}, 1)), (Floats{0, 1, 2, 3}));
}

TEST(Concatenate, NamesShapesThatDoNotFit) {
  const Variable x(counting({2, 3, 4, 5}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)concatenate({x, Variable(counting({2, 4, 4, 5}))}, -1);
              }),
              HasSubstr("[2,3,4,5] and [2,4,4,5]"));
  EXPECT_THROW(concatenate({x, Variable(counting({2, 3, 4}))}, 1), ShapeError);
  EXPECT_THROW(concatenate({x, x}, 4), ShapeError);
  EXPECT_THROW(concatenate({}, 0), ValueError);
}

TEST(Concatenate, GivesNoGradientToConstants) {
  const Variable x(counting({2, 2}), true);
  const Variable constant(counting({2, 3}));
  sum(concatenate({constant, x}, -1)).backward();
  EXPECT_EQ(values(x.grad()), Floats(4, 1));
}

TEST(Slice, TakesEntriesOfAnyAxis) {
  const Variable x(counting({2, 3, 2}));
  EXPECT_EQ(values(slice(x, 1, 1, 2)), (Floats{2, 3, 4, 5, 8, 9, 10, 11}));
  EXPECT_EQ(values(slice(x, -1, 1, 1)), (Floats{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(slice(x, 0, 2, 0).shape(), Shape({0, 3, 2}));
}

TEST(Slice, RefusesEntriesThatAreNotThere) {
  const Variable x(counting({2, 3}));
  EXPECT_THAT(error_of<ShapeError>([&] { (void)slice(x, 1, 2, 2); }),
              HasSubstr("slice: expected entries within axis 1 of [2,3]"));
  EXPECT_THROW(slice(x, 1, -1, 1), ShapeError);
  EXPECT_THROW(slice(x, 2, 0, 1), ShapeError);
}

TEST(Pad2d, PutsCellsAroundEachImage) {
  const Variable y = pad2d(Variable(counting({2, 1, 2, 1})), {1, 0, 0, 1}, 9);
  EXPECT_EQ(y.shape(), Shape({2, 2, 3, 1}));
  EXPECT_EQ(values(y), (Floats{9, 9, 9, 0, 1, 9, 9, 9, 9, 2, 3, 9}));
}

TEST(Pad2d, RefusesNegativePadsAndAnythingButImages) {
  EXPECT_THROW(pad2d(Variable(counting({1, 2, 2, 1})), {-1, 0, 0, 0}),
               ValueError);
  EXPECT_THROW(pad2d(Variable(counting({2, 2})), {1, 1, 1, 1}), ShapeError);
}

TEST(Crop2d, UndoesPadding) {
  for (const int64_t c : {1, 3, 17}) {
    const Tensor x = noise({2, 3, 4, c});
    const Pads pads{1, 2, 0, 3};
    EXPECT_EQ(values(crop2d(pad2d(Variable(x), pads), pads)), values(x));
  }
}

TEST(Crop2d, RefusesToTakeTheWholeImage) {
  const Variable x(counting({1, 3, 4, 1}));
  EXPECT_NO_THROW(crop2d(x, {1, 1, 1, 2}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)crop2d(x, {1, 2, 0, 0});
              }),
              HasSubstr("at least one pixel of [1,3,4,1], got 1,2,0,0"));
  EXPECT_THROW(crop2d(x, {0, 0, INT64_MAX, INT64_MAX}), ShapeError);
  EXPECT_THROW(crop2d(x, {0, -1, 0, 0}), ValueError);
}

TEST(Upsample2d, RepeatsPixels) {
  const Variable y = upsample2d(Variable(counting({1, 1, 2, 1})), {2, 3});
  EXPECT_EQ(y.shape(), Shape({1, 2, 6, 1}));
  EXPECT_EQ(values(y), (Floats{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST(Upsample2d, InterpolatesBetweenPixelCentres) {
  const Variable y =
      upsample2d(Variable(Tensor::of<float>({1, 1, 3, 1}, {0, 4, 12})), {1, 2},
                 Interpolation::bilinear);
  EXPECT_EQ(values(y), (Floats{0, 1, 3, 6, 10, 12}));
}

TEST(Upsample2d, KeepsNanToItsNeighbours) {
  const auto y =
      values(upsample2d(Variable(Tensor::of<float>({1, 1, 3, 1}, {NAN, 1, 2})),
                        {1, 1}, Interpolation::bilinear));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1);
}

TEST(Upsample2d, RefusesFactorsBelowOne) {
  EXPECT_THROW(upsample2d(Variable(counting({1, 2, 2, 1})), {0, 2}),
               ValueError);
  EXPECT_THROW(upsample2d(Variable(counting({2, 2})), {2, 2}), ShapeError);
}

TEST(Gather, TakesEntriesAsOftenAsTheyAreListed) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(values(gather(x, -1, {2, 0, 2, 1})),
            (Floats{2, 0, 2, 1, 5, 3, 5, 4}));
  EXPECT_EQ(values(gather(x, 0, {1})), (Floats{3, 4, 5}));
  EXPECT_EQ(gather(x, 0, {}).shape(), Shape({0, 3}));
}

TEST(Gather, RefusesEntriesThatAreNotThere) {
  const Variable x(counting({2, 3}));
  EXPECT_THROW(gather(x, 1, {3}), ShapeError);
  EXPECT_THROW(gather(x, 1, {-1}), ShapeError);
  EXPECT_THROW(gather(x, 2, {0}), ShapeError);
}

TEST(Resize2d, TakesThePixelUnderTheCentre) {
  const Variable x(counting({1, 1, 6, 1}));
  // The centers of thirds are on pixel borders: the next pixel counts.
  EXPECT_EQ(
      values(resize2d(x, {2, 1}, {.interpolation = Interpolation::nearest})),
      (Floats{3, 3}));
  EXPECT_EQ(
      values(resize2d(x, {1, 4}, {.interpolation = Interpolation::nearest})),
      (Floats{0, 2, 3, 5}));
  EXPECT_EQ(values(resize2d(x, {1, 3})), (Floats{0.5f, 2.5f, 4.5f}));
}

TEST(Resize2d, RefusesWhatIsNoImageAndSizesBelowOne) {
  EXPECT_THROW(resize2d(Variable(counting({2, 2})), {2, 2}), ShapeError);
  const Variable x(counting({1, 2, 2, 1}));
  EXPECT_THROW(resize2d(x, {0, 2}), ValueError);
  EXPECT_THROW(resize2d(x, {2, 2},
                        {.interpolation = Interpolation::nearest,
                         .coordinates = PixelCoordinates::align_corners}),
               ValueError);
  EXPECT_THROW(resize2d(x, {2, -1}), ValueError);
  EXPECT_THROW(resize2d(x, {2, int64_t{1} << 40}), ValueError);
}

TEST(BroadcastTo, RepeatsAlongNewAxesAndAxesOfOne) {
  const Variable x(Tensor::of<float>({2, 1}, {1, 2}));
  EXPECT_EQ(values(broadcast_to(x, {2, 2, 3})),
            (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values(broadcast_to(Variable(Tensor::scalar(3)), {})), Floats{3});
  EXPECT_EQ(broadcast_to(x, {2, 0}).shape(), Shape({2, 0}));
}

TEST(BroadcastTo, RefusesShapesThatItDoesNotRepeatInto) {
  const Variable x(counting({2, 3}));
  EXPECT_THAT(error_of<ShapeError>([&] {
                (void)broadcast_to(x, {2, 4});
              }),
              HasSubstr("[2,3] repeats into, got [2,4]"));
  EXPECT_THROW(broadcast_to(x, {3}), ShapeError);
}

TEST(LayoutOps, RefuseSizesThatOverflow) {
  const Variable x(counting({1, 4, 4, 3}));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kQuarter = int64_t{1} << 62;
  EXPECT_THROW(pad2d(x, {kMost, kMost, 0, 0}), ValueError);
  EXPECT_THROW(pad2d(x, {0, 0, kQuarter, kQuarter}), ValueError);
  EXPECT_THROW(upsample2d(x, {kQuarter, 1}), ShapeError);
  EXPECT_THROW(upsample2d(x, {1, kMost}), ShapeError);
}

TEST(LayoutOps, GiveTheSameBitsForAnyNumberOfThreads) {
  const ThreadsRestored restored;
  const Tensor x = noise({18, 5, 7, 3});
  const auto run = [&](int threads) {
    set_num_threads(threads);
    const Variable leaf(x, true);
    const Variable h = relu(leaf);
    const Variable large = upsample2d(h, {2, 2}, Interpolation::bilinear);
    const Variable y = concatenate(
        {pad2d(h, {1, 0, 2, 0}), avg_pool2d(large, {5, 6}, {})}, -1);
    mean(max(y, {1, 2})).backward();
    return values(leaf.grad());
  };
  EXPECT_EQ(run(1), run(2));
}

}  // namespace
}  // namespace octet
