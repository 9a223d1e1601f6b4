// Augmentation of label maps, and of one of several inputs.
#include <cstdint>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

#include "augment_batches.h"
#include "tests/support.h"

namespace octet::train {
namespace {

/// Returns masks [n,h,w] or [n,h,w,1] with the values of single-channel images.
Batch with_masks(const Shape& images, bool channels) {
  const Batch batch = train::counting(images);
  const Shape mask = channels ? Shape{images[0], images[1], images[2], 1}
                              : Shape{images[0], images[1], images[2]};
  return {batch.input(), batch.input().reshaped(mask)};
}

TEST(Augment, MovesMasksWithTheirImages) {
  const Augmentation moves = {random_flip({.vertical = true}),
                              random_crop({.padding = 1}), random_shift(),
                              random_rotation({.degrees = 40})};
  for (const bool channels : {false, true}) {
    const Batch batch = with_masks({20, 5, 7, 1}, channels);
    const std::vector<float> before = values(batch);
    const Batch moved = augment(moves, batch, Rng(2), 0);
    EXPECT_NE(values(moved), before);
    EXPECT_EQ(octet::values(moved.label()), values(moved));
    EXPECT_EQ(octet::values(batch.label()), before);
  }
}

// Images with a color per class, so both show the nearest pixel.
TEST(Augment, MovesClassMasksWithoutInterpolation) {
  const Batch images = train::counting({30, 5, 7, 1});
  Tensor classes(Shape{30, 5, 7}, DType::i64);
  for (size_t i = 0; i < classes.data<int64_t>().size(); ++i) {
    classes.data<int64_t>()[i] = i % 3 == 0 ? 255 : 7;
  }
  const Batch batch(images.input(), classes);
  // Moves by whole pixels agree with the image.
  const Batch flipped =
      augment({random_flip({.vertical = true})}, batch, Rng(2), 0);
  const std::vector<float> places = values(flipped);
  const auto moved = flipped.label().data<int64_t>();
  ASSERT_EQ(flipped.label().dtype(), DType::i64);
  for (size_t i = 0; i < places.size(); ++i) {
    const auto from = static_cast<size_t>(places[i] - values(batch)[0]);
    EXPECT_EQ(moved[i], from % 3 == 0 ? 255 : 7);
  }
  const Batch turned = augment(
      {random_shift(), random_rotation({.degrees = 40})}, batch, Rng(2), 0);
  int64_t changed = 0;
  for (size_t i = 0; i < moved.size(); ++i) {
    const int64_t label = std::as_const(turned).label().data<int64_t>()[i];
    EXPECT_TRUE(label == 0 || label == 7 || label == 255) << label;
    if (label != std::as_const(classes).data<int64_t>()[i]) ++changed;
  }
  EXPECT_GT(changed, 0);
  // A rotation by 0 degrees is the identity.
  const Batch same =
      augment({random_rotation({.degrees = 0})}, batch, Rng(2), 0);
  EXPECT_TRUE(std::ranges::equal(same.label().data<int64_t>(),
                                 std::as_const(classes).data<int64_t>()));
}

TEST(Augment, ValueTransformsDoNotChangeMasks) {
  const Batch batch = with_masks({6, 5, 7, 1}, true);
  const Batch changed =
      augment({random_brightness({.high = 1000}), cutout({.size = 3})}, batch,
              Rng(2), 0);
  EXPECT_NE(values(changed), values(batch));
  EXPECT_EQ(octet::values(changed.label()), values(batch));
}

TEST(Augment, AppliesToTheOnlyImageInput) {
  const Batch one = train::counting({9, 4, 6, 2});
  const Batch several({Tensor::zeros({9, 3}), one.input()}, {one.label()});
  const Batch result = apply_one(random_flip(), several);
  EXPECT_EQ(octet::values(result.inputs[1]),
            values(apply_one(random_flip(), one)));
  EXPECT_EQ(octet::values(result.inputs[0]), std::vector<float>(27));
}

TEST(Augment, RequiresASelectionAmongSeveralImageInputs) {
  const Batch one = train::counting({9, 4, 6, 2});
  const Batch pair({one.input(), one.input()}, {one.label()});
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)apply_one(random_flip(), pair); }),
      (Failure{"count_mismatch", "random_flip"}));
  const Batch both = apply_one(on_inputs({0, 1}, random_flip()), pair);
  EXPECT_EQ(octet::values(both.inputs[0]),
            values(apply_one(random_flip(), one)));
  EXPECT_EQ(octet::values(both.inputs[1]), octet::values(both.inputs[0]));
  const Batch second = apply_one(on_inputs({1}, random_flip()), pair);
  EXPECT_EQ(octet::values(second.inputs[0]), values(one));
  EXPECT_EQ(octet::values(second.inputs[1]), octet::values(both.inputs[1]));
  EXPECT_THROW((void)apply_one(on_inputs({2}, random_flip()), pair),
               ValueError);
  EXPECT_THROW((void)on_inputs({}, random_flip()), ValueError);
  EXPECT_THROW((void)on_inputs({0}, nullptr), ValueError);
}

}  // namespace
}  // namespace octet::train
