#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

#include "augment_batches.h"
#include "tests/support.h"

namespace octet::train {
namespace {

using ::testing::Each;
using ::testing::ElementsAreArray;

/// Returns an image of a batch. Shapes: batch [n,h,w,c], result [h w c].
std::vector<float> image(const Batch& batch, int64_t i) {
  const Tensor row = batch.input().slice(i, 1);
  return {row.f32().begin(), row.f32().end()};
}

/// Reference: moves a [5,6,2] image by whole pixels.
std::vector<float> moved(const std::vector<float>& from, int64_t dy, int64_t dx,
                         Border border) {
  constexpr int64_t kH = 5;
  constexpr int64_t kW = 6;
  std::vector<float> to;
  const auto mirror = [](int64_t i, int64_t n) {
    return i < 0 ? -i : (i >= n ? 2 * n - 2 - i : i);
  };
  for (int64_t y = 0; y < kH; ++y) {
    for (int64_t x = 0; x < kW; ++x) {
      for (int64_t c = 0; c < 2; ++c) {
        const int64_t fy = y + dy;
        const int64_t fx = x + dx;
        const bool inside = fy >= 0 && fy < kH && fx >= 0 && fx < kW;
        const int64_t at = (mirror(fy, kH) * kW + mirror(fx, kW)) * 2 + c;
        to.push_back(inside || border == Border::reflect
                         ? from[static_cast<size_t>(at)]
                         : 0.0f);
      }
    }
  }
  return to;
}

TEST(Augment, DoesNotModifyItsInput) {
  const Batch batch = counting({4, 3, 5, 1});
  const std::vector<float> before = values(batch);
  const Batch result = apply_one(random_brightness({.high = 100}), batch);
  EXPECT_EQ(values(batch), before);
  EXPECT_NE(values(result), before);
}

TEST(Augment, IsBitIdenticalForAnyNumberOfThreads) {
  const Augmentation all = {random_flip({.vertical = true}),
                            random_crop({.padding = 1}),
                            random_shift(),
                            random_rotation({.border = Border::reflect}),
                            random_brightness({.high = 1000}),
                            random_contrast({.high = 1000}),
                            cutout({.size = 2}),
                            mixup({.classes = 2})};
  const Batch batch = counting({37, 5, 7, 3});
  const int threads = num_threads();
  std::vector<std::vector<float>> inputs;
  std::vector<std::vector<float>> labels;
  for (const int count : {1, 2, 5}) {
    set_num_threads(count);
    const Batch result = augment(all, batch, Rng(3), 0);
    inputs.push_back(values(result));
    labels.emplace_back(result.label().f32().begin(),
                        result.label().f32().end());
  }
  set_num_threads(threads);
  EXPECT_THAT(inputs, Each(inputs[0]));
  EXPECT_THAT(labels, Each(labels[0]));
}

TEST(Augment, DependsOnTheStreamOfTheEpochAndThePosition) {
  const Augmentation some = {random_brightness({.high = 1000})};
  const Batch batch = counting({6, 2, 2, 1});
  const std::vector<float> whole = values(augment(some, batch, Rng(3), 0));
  Batch tail = batch;
  tail.input() = batch.input().slice(4, 2);
  EXPECT_EQ(values(augment(some, tail, Rng(3), 4)),
            std::vector<float>(whole.end() - 8, whole.end()));
  EXPECT_NE(values(augment(some, batch, Rng(4), 0)), whole);
}

TEST(Augment, UsesASeparateStreamPerTransform) {
  // The second transform does not depend on the draws of the first.
  const Batch batch = counting({8, 3, 4, 2});
  const Batch plain =
      augment({random_crop({.padding = 0}), random_flip()}, batch, Rng(1), 0);
  const Batch other =
      augment({random_brightness({.delta = 0, .high = 1000}), random_flip()},
              batch, Rng(1), 0);
  EXPECT_EQ(values(plain), values(other));
}

TEST(Augment, RejectsNullPointersAndInputsOtherThanImages) {
  EXPECT_THROW(apply_one(nullptr, counting({1, 1, 1, 1})), ValueError);
  EXPECT_THROW(apply_one(random_flip(), counting({2, 3})), ShapeError);
}

TEST(Augment, AcceptsAnEmptyBatch) {
  EXPECT_EQ(apply_one(random_flip(), counting({0, 3, 4, 1})).size(), 0);
}

TEST(RandomFlip, FlipsAboutHalfOfTheImages) {
  const Batch batch = counting({200, 2, 3, 2});
  const Batch result = apply_one(random_flip(), batch);
  int flipped = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const std::vector<float> x = image(batch, i);
    const std::vector<float> mirrored = {x[4],  x[5],  x[2], x[3], x[0], x[1],
                                         x[10], x[11], x[8], x[9], x[6], x[7]};
    const std::vector<float> y = image(result, i);
    EXPECT_TRUE(y == x || y == mirrored) << i;
    flipped += y == mirrored ? 1 : 0;
  }
  // Three standard deviations of a fair coin.
  EXPECT_NEAR(flipped, 100, 22);
}

TEST(RandomFlip, FlipsVerticallyIfEnabled) {
  const Batch batch = counting({200, 3, 1, 2});
  const Batch result =
      apply_one(random_flip({.horizontal = false, .vertical = true}), batch);
  int flipped = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const std::vector<float> x = image(batch, i);
    const std::vector<float> mirrored = {x[4], x[5], x[2], x[3], x[0], x[1]};
    const std::vector<float> y = image(result, i);
    EXPECT_TRUE(y == x || y == mirrored) << i;
    flipped += y == mirrored ? 1 : 0;
  }
  EXPECT_NEAR(flipped, 100, 22);
}

TEST(RandomRotation90, TurnsImagesByQuarters) {
  constexpr int64_t kSide = 3;
  const Batch batch = counting({400, kSide, kSide, 2});
  const Batch result = apply_one(random_rotation90(), batch);
  std::vector<int> seen(4, 0);
  for (int64_t i = 0; i < 400; ++i) {
    std::vector<float> x = image(batch, i);
    int matches = 0;
    for (size_t quarters = 0; quarters < 4; ++quarters) {
      if (image(result, i) == x) {
        ++matches;
        ++seen[quarters];
      }
      std::vector<float> turned;  // counterclockwise, as numpy.rot90
      for (int64_t row = 0; row < kSide; ++row) {
        for (int64_t column = 0; column < kSide; ++column) {
          const int64_t from = (column * kSide + kSide - 1 - row) * 2;
          turned.push_back(x[static_cast<size_t>(from)]);
          turned.push_back(x[static_cast<size_t>(from + 1)]);
        }
      }
      x = turned;
    }
    EXPECT_EQ(matches, 1) << i;
  }
  // The expected count is 100, its standard deviation 9.
  for (const int count : seen) EXPECT_NEAR(count, 100, 27);
}

TEST(RandomRotation90, MovesLabelMapsWithTheirImages) {
  Batch batch = counting({20, 4, 4, 1});
  Tensor masks({20, 4, 4}, DType::i64);
  for (size_t i = 0; i < 320; ++i) {
    masks.data<int64_t>()[i] = static_cast<int64_t>(batch.input().f32()[i]);
  }
  batch.label() = masks;
  const Batch result = apply_one(random_rotation90(), batch);
  const auto labels = std::as_const(result.label()).data<int64_t>();
  for (size_t i = 0; i < 320; ++i) {
    EXPECT_EQ(static_cast<float>(labels[i]), values(result)[i]);
  }
}

TEST(RandomRotation90, RequiresSquareImages) {
  EXPECT_EQ(failure_of<ShapeError>([] {
              (void)apply_one(random_rotation90(), counting({1, 3, 4, 1}));
            }),
            (Failure{"invalid_shape", "random_rotation90"}));
  EXPECT_EQ(values(apply_one(random_rotation90(), counting({2, 1, 1, 3}))),
            values(counting({2, 1, 1, 3})));
}

TEST(RandomCrop, UsesAllOffsetsUpToThePadding) {
  for (const Border border : {Border::zero, Border::reflect}) {
    const Batch batch = counting({500, 5, 6, 2});
    const Batch result =
        apply_one(random_crop({.padding = 2, .border = border}), batch);
    std::vector<int> seen(25, 0);
    for (int64_t i = 0; i < 500; ++i) {
      const std::vector<float> x = image(batch, i);
      const std::vector<float> y = image(result, i);
      int matches = 0;
      for (int64_t dy = -2; dy <= 2; ++dy) {
        for (int64_t dx = -2; dx <= 2; ++dx) {
          if (y == moved(x, dy, dx, border)) {
            ++matches;
            ++seen[static_cast<size_t>((dy + 2) * 5 + dx + 2)];
          }
        }
      }
      EXPECT_EQ(matches, 1) << i;
    }
    // The expected count is 20.
    EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 3);
  }
}

TEST(RandomCrop, IsAllPaddingForPaddingMuchLargerThanTheImage) {
  const Batch result =
      apply_one(random_crop({.padding = 10000}), counting({4, 2, 3, 1}));
  EXPECT_THAT(values(result), Each(0.0f));
}

TEST(RandomCrop, RejectsPaddingOutOfRange) {
  EXPECT_THROW(random_crop({.padding = -1}), ValueError);
  EXPECT_THROW(apply_one(random_crop({.padding = 3, .border = Border::reflect}),
                         counting({1, 3, 9, 1})),
               ShapeError);
  EXPECT_NO_THROW(
      apply_one(random_crop({.padding = 2, .border = Border::reflect}),
                counting({1, 3, 9, 1})));
}

TEST(RandomShift, PreservesALinearRamp) {
  // Bilinear interpolation is exact on x -> x.
  Batch batch = counting({20, 1, 16, 1});
  for (size_t i = 0; i < 20 * 16; ++i) {
    batch.input().f32()[i] = static_cast<float>(i % 16);
  }
  const Batch result =
      apply_one(random_shift({.height = 0, .width = 0.125f}), batch);
  bool fraction = false;
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<float> y = image(result, i);
    const float shift = y[8] - 8;
    EXPECT_LE(std::abs(shift), 2.0f);
    fraction |= shift != std::round(shift);
    for (size_t x = 2; x < 14; ++x) {
      EXPECT_NEAR(y[x], static_cast<float>(x) + shift, 1e-5);
    }
  }
  EXPECT_TRUE(fraction);
}

TEST(RandomShift, FillsWithZerosOrReflection) {
  const Batch batch = counting({50, 4, 4, 1});
  const auto smallest = [&](Border border) {
    const std::vector<float> y = values(apply_one(
        random_shift({.height = 1, .width = 1, .border = border}), batch));
    return *std::min_element(y.begin(), y.end());
  };
  EXPECT_EQ(smallest(Border::zero), 0.0f);
  EXPECT_GE(smallest(Border::reflect), 0.999f);
}

TEST(RandomRotation, RotatesALinearRampAboutTheCenter) {
  // f(y, x) = x - 7 becomes cos(a) (x - 7) + -sin(a) (y - 7) for some |a|.
  Batch batch = counting({20, 15, 15, 1});
  for (size_t i = 0; i < 20 * 225; ++i) {
    batch.input().f32()[i] = static_cast<float>(i % 15) - 7;
  }
  const Batch result = apply_one(random_rotation({.degrees = 30}), batch);
  float most = 0;
  for (int64_t i = 0; i < 20; ++i) {
    const std::vector<float> r = image(result, i);
    const auto at = [&](int y, int x) {
      return r[static_cast<size_t>((y + 7) * 15 + x + 7)];
    };
    const float cosine = at(0, 1);
    const float sine = at(1, 0);
    EXPECT_NEAR(cosine * cosine + sine * sine, 1, 1e-5);
    EXPECT_GE(cosine, std::cos(0.5236f) - 1e-5f);
    EXPECT_NEAR(at(0, 0), 0, 1e-5);
    EXPECT_NEAR(at(3, 4), 4 * cosine + 3 * sine, 1e-4);
    EXPECT_NEAR(at(-4, 2), 2 * cosine - 4 * sine, 1e-4);
    most = std::max(most, std::abs(sine));
  }
  EXPECT_GT(most, 0.2f);
}

TEST(RandomRotation, PreservesAConstantImageWithReflection) {
  Batch batch = counting({10, 6, 9, 3});
  std::ranges::fill(batch.input().f32(), 2.0f);
  for (const float y : values(apply_one(
           random_rotation({.degrees = 180, .border = Border::reflect}),
           batch))) {
    EXPECT_NEAR(y, 2.0f, 1e-6);
  }
}

TEST(RandomRotation, AcceptsImagesOfOnePixel) {
  Batch batch = counting({3, 1, 1, 17});
  EXPECT_NO_THROW(
      apply_one(random_rotation({.border = Border::reflect}), batch));
}

TEST(RandomBrightness, AddsAConstantPerImageAndClamps) {
  Batch batch = counting({50, 2, 2, 1});
  std::ranges::fill(batch.input().f32(), 0.5f);
  float most = 0;
  const Batch result = apply_one(
      random_brightness({.delta = 0.5f, .low = 0.25f, .high = 0.75f}), batch);
  for (int64_t i = 0; i < 50; ++i) {
    const std::vector<float> y = image(result, i);
    EXPECT_THAT(y, Each(y[0]));
    EXPECT_GE(y[0], 0.25f);
    EXPECT_LE(y[0], 0.75f);
    most = std::max(most, y[0]);
  }
  EXPECT_EQ(most, 0.75f);
}

TEST(RandomContrast, ScalesEachChannelAboutItsMean) {
  Batch batch = counting({1, 1, 2, 2});
  std::ranges::copy(std::vector<float>{1, 10, 3, 30},
                    batch.input().f32().begin());
  const std::vector<float> y = image(
      apply_one(random_contrast({.factor = 0.5f, .low = -100, .high = 100}),
                batch),
      0);
  const float factor = (y[2] - y[0]) / 2;
  EXPECT_GE(factor, 0.5f);
  EXPECT_LE(factor, 1.5f);
  EXPECT_NE(factor, 1.0f);
  EXPECT_NEAR(y[0] + y[2], 4, 1e-5);
  EXPECT_NEAR(y[1] + y[3], 40, 1e-4);
  EXPECT_NEAR((y[3] - y[1]) / 20, factor, 1e-5);
}

TEST(Cutout, ClearsASquareClippedAtTheBorder) {
  const Batch batch = counting({300, 5, 6, 2});
  const Batch result = apply_one(cutout({.size = 3, .value = -1}), batch);
  int64_t largest = 0;
  int64_t smallest = 100;
  for (int64_t i = 0; i < 300; ++i) {
    const std::vector<float> x = image(batch, i);
    const std::vector<float> y = image(result, i);
    int64_t cleared = 0;
    for (size_t k = 0; k < y.size(); ++k) {
      EXPECT_TRUE(y[k] == x[k] || y[k] == -1);
      cleared += y[k] == -1 ? 1 : 0;
    }
    largest = std::max(largest, cleared);
    smallest = std::min(smallest, cleared);
  }
  EXPECT_EQ(largest, 3 * 3 * 2);
  EXPECT_EQ(smallest, 2 * 2 * 2);
}

TEST(Cutout, ClearsAnImageSmallerThanTheSquare) {
  EXPECT_THAT(
      values(apply_one(cutout({.size = 1 << 30}), counting({4, 3, 2, 1}))),
      Each(0.0f));
}

TEST(Transforms, RejectOptionsOutOfRange) {
  EXPECT_THROW(random_shift({.height = -0.1f}), ValueError);
  EXPECT_THROW(random_shift({.width = NAN}), ValueError);
  EXPECT_THROW(random_rotation({.degrees = 181}), ValueError);
  EXPECT_THROW(random_brightness({.delta = -1}), ValueError);
  EXPECT_THROW(random_brightness({.low = 1, .high = 0}), ValueError);
  EXPECT_THROW(random_contrast({.factor = 1.5f}), ValueError);
  EXPECT_THROW(cutout({.size = 0}), ValueError);
}

}  // namespace
}  // namespace octet::train
