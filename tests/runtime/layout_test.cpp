#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;

TEST(Transpose, PermutesAxes) {
  const Variable y = transpose(Variable(counting({2, 3})), {1, 0});
  EXPECT_EQ(y.shape(), Shape({3, 2}));
  EXPECT_EQ(values(y), (Floats{0, 3, 1, 4, 2, 5}));
}

TEST(Transpose, RejectsInvalidPermutations) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)transpose(x, {0, 0});
            }),
            (Failure{"invalid_value", "transpose"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)transpose(x, {0, 2});
            }),
            (Failure{"invalid_value", "transpose"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)transpose(x, {0}); }),
            (Failure{"invalid_value", "transpose"}));
}

TEST(Concatenate, JoinsChannels) {
  const Variable y =
      concatenate({Variable(counting({1, 2, 1, 2})),
                   Variable(Tensor::of<float>({1, 2, 1, 1}, {8, 9}))},
                  -1);
  EXPECT_EQ(y.shape(), Shape({1, 2, 1, 3}));
  EXPECT_EQ(values(y), (Floats{0, 1, 8, 2, 3, 9}));
}

TEST(Concatenate, JoinsRows) {
  const Variable x(counting({2, 2}));
  EXPECT_EQ(values(concatenate({x, x}, 0)), (Floats{0, 1, 2, 3, 0, 1, 2, 3}));
}

TEST(Concatenate, AcceptsEmptyParts) {
  const Variable x(counting({2, 2}));
  const Variable none(Tensor(Shape{2, 0}));
  EXPECT_EQ(values(concatenate({none, x}, 1)), (Floats{0, 1, 2, 3}));
}

TEST(Concatenate, RejectsIncompatibleShapes) {
  const Variable x(counting({2, 3, 4, 5}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)concatenate({x, Variable(counting({2, 4, 4, 5}))}, -1);
            }),
            (Failure{"shape_mismatch", "concatenate"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)concatenate({x, Variable(counting({2, 3, 4}))}, 1);
            }),
            (Failure{"shape_mismatch", "concatenate"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)concatenate({x, x}, 4);
            }),
            (Failure{"out_of_range", "axis"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)concatenate({}, 0); }),
            (Failure{"missing_value", "concatenate"}));
}

TEST(Concatenate, SkipsGradientsOfConstants) {
  const Variable x(counting({2, 2}), true);
  const Variable constant(counting({2, 3}));
  sum(concatenate({constant, x}, -1)).backward();
  EXPECT_EQ(values(x.grad()), Floats(4, 1));
}

TEST(Slice, SelectsEntriesOfAnyAxis) {
  const Variable x(counting({2, 3, 2}));
  EXPECT_EQ(values(slice(x, 1, 1, 2)), (Floats{2, 3, 4, 5, 8, 9, 10, 11}));
  EXPECT_EQ(values(slice(x, -1, 1, 1)), (Floats{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(slice(x, 0, 2, 0).shape(), Shape({0, 3, 2}));
}

TEST(Slice, RejectsEntriesOutOfRange) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)slice(x, 1, 2, 2); }),
            (Failure{"out_of_range", "slice"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)slice(x, 1, -1, 1); }),
            (Failure{"out_of_range", "slice"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)slice(x, 2, 0, 1); }),
            (Failure{"out_of_range", "axis"}));
}

TEST(Pad2d, PadsEachImage) {
  const Variable y = pad2d(Variable(counting({2, 1, 2, 1})), {1, 0, 0, 1}, 9);
  EXPECT_EQ(y.shape(), Shape({2, 2, 3, 1}));
  EXPECT_EQ(values(y), (Floats{9, 9, 9, 0, 1, 9, 9, 9, 9, 2, 3, 9}));
}

TEST(Pad2d, RejectsNegativePadsAndOtherRanks) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)pad2d(Variable(counting({1, 2, 2, 1})), {-1, 0, 0, 0});
            }),
            (Failure{"out_of_range", "pad2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)pad2d(Variable(counting({2, 2})), {1, 1, 1, 1});
            }),
            (Failure{"invalid_shape", "pad2d"}));
}

TEST(Crop2d, InvertsPadding) {
  for (const int64_t c : {1, 3, 17}) {
    const Tensor x = noise({2, 3, 4, c});
    const Pads pads{1, 2, 0, 3};
    EXPECT_EQ(values(crop2d(pad2d(Variable(x), pads), pads)), values(x));
  }
}

TEST(Crop2d, RejectsRemovingTheWholeImage) {
  const Variable x(counting({1, 3, 4, 1}));
  EXPECT_NO_THROW(crop2d(x, {1, 1, 1, 2}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)crop2d(x, {1, 2, 0, 0});
            }),
            (Failure{"out_of_range", "crop2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)crop2d(x, {0, 0, INT64_MAX, INT64_MAX});
            }),
            (Failure{"out_of_range", "crop2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)crop2d(x, {0, -1, 0, 0});
            }),
            (Failure{"out_of_range", "crop2d"}));
}

TEST(Upsample2d, RepeatsPixels) {
  const Variable y = upsample2d(Variable(counting({1, 1, 2, 1})), {2, 3});
  EXPECT_EQ(y.shape(), Shape({1, 2, 6, 1}));
  EXPECT_EQ(values(y), (Floats{0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}));
}

TEST(Upsample2d, InterpolatesBetweenPixelCenters) {
  const Variable y =
      upsample2d(Variable(Tensor::of<float>({1, 1, 3, 1}, {0, 4, 12})), {1, 2},
                 Interpolation::bilinear);
  EXPECT_EQ(values(y), (Floats{0, 1, 3, 6, 10, 12}));
}

TEST(Upsample2d, ConfinesNanToNeighbors) {
  const auto y =
      values(upsample2d(Variable(Tensor::of<float>({1, 1, 3, 1}, {NAN, 1, 2})),
                        {1, 1}, Interpolation::bilinear));
  EXPECT_TRUE(std::isnan(y[0]));
  EXPECT_EQ(y[1], 1);
}

TEST(Upsample2d, RejectsFactorsBelowOne) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)upsample2d(Variable(counting({1, 2, 2, 1})), {0, 2});
            }),
            (Failure{"out_of_range", "upsample2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)upsample2d(Variable(counting({2, 2})), {2, 2});
            }),
            (Failure{"invalid_shape", "upsample2d"}));
}

TEST(Gather, RepeatsEntriesListedTwice) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(values(gather(x, -1, {2, 0, 2, 1})),
            (Floats{2, 0, 2, 1, 5, 3, 5, 4}));
  EXPECT_EQ(values(gather(x, 0, {1})), (Floats{3, 4, 5}));
  EXPECT_EQ(gather(x, 0, {}).shape(), Shape({0, 3}));
}

TEST(Gather, RejectsEntriesOutOfRange) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)gather(x, 1, {3}); }),
            (Failure{"out_of_range", "gather"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)gather(x, 1, {-1}); }),
            (Failure{"out_of_range", "gather"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)gather(x, 2, {0}); }),
            (Failure{"out_of_range", "axis"}));
}

TEST(Resize2d, SelectsThePixelUnderTheCenter) {
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

TEST(Resize2d, RejectsInvalidInputsAndSizes) {
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)resize2d(Variable(counting({2, 2})), {2, 2});
            }),
            (Failure{"invalid_shape", "resize2d"}));
  const Variable x(counting({1, 2, 2, 1}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)resize2d(x, {0, 2});
            }),
            (Failure{"out_of_range", "resize2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)resize2d(x, {2, 2},
                             {.interpolation = Interpolation::nearest,
                              .coordinates = PixelCoordinates::align_corners});
            }),
            (Failure{"unsupported_value", "resize2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)resize2d(x, {2, -1});
            }),
            (Failure{"out_of_range", "resize2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)resize2d(x, {2, int64_t{1} << 40});
            }),
            (Failure{"out_of_range", "resize2d"}));
}

TEST(BroadcastTo, RepeatsAlongNewAxesAndAxesOfOne) {
  const Variable x(Tensor::of<float>({2, 1}, {1, 2}));
  EXPECT_EQ(values(broadcast_to(x, {2, 2, 3})),
            (Floats{1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2}));
  EXPECT_EQ(values(broadcast_to(Variable(Tensor::scalar(3)), {})), Floats{3});
  EXPECT_EQ(broadcast_to(x, {2, 0}).shape(), Shape({2, 0}));
}

TEST(BroadcastTo, RejectsIncompatibleShapes) {
  const Variable x(counting({2, 3}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)broadcast_to(x, {2, 4});
            }),
            (Failure{"shape_mismatch", "broadcast_to"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)broadcast_to(x, {3}); }),
            (Failure{"shape_mismatch", "broadcast_to"}));
}

TEST(LayoutOps, RejectOverflowingSizes) {
  const Variable x(counting({1, 4, 4, 3}));
  constexpr int64_t kMost = std::numeric_limits<int64_t>::max();
  constexpr int64_t kQuarter = int64_t{1} << 62;
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)pad2d(x, {kMost, kMost, 0, 0});
            }),
            (Failure{"out_of_range", "pad2d"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)pad2d(x, {0, 0, kQuarter, kQuarter});
            }),
            (Failure{"out_of_range", "pad2d"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)upsample2d(x, {kQuarter, 1});
            }),
            (Failure{"invalid_shape", "shape"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)upsample2d(x, {1, kMost});
            }),
            (Failure{"invalid_shape", "shape"}));
}

TEST(LayoutOps, AreBitIdenticalForAnyNumberOfThreads) {
  const ThreadCountGuard restored;
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
