#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kPaddedImages = Shape::kAnySize;

TEST(ZeroPadding2D, PadsEachImageWithZeros) {
  const Tensor x = Tensor::of<float>({1, 1, 2, 1}, {3, 4});
  const Tensor y = infer(ZeroPadding2D({.padding = {1, 0, 0, 2}}), x);
  EXPECT_EQ(y.shape(), Shape({1, 2, 4, 1}));
  EXPECT_EQ(values(y), (Floats{0, 0, 0, 0, 3, 4, 0, 0}));
}

TEST(ZeroPadding2D, PadsByOneByDefault) {
  EXPECT_EQ(ZeroPadding2D()(input({4, 6, 3})).shape(),
            Shape({kPaddedImages, 6, 8, 3}));
}

TEST(ZeroPadding2D, AcceptsTheThreeFormsOfKeras) {
  const auto shape = [](const Config& padding) {
    const auto layer =
        create_layer("ZeroPadding2D", Config().set("padding", padding));
    const Shape x{kPaddedImages, 4, 6, 3};
    return layer->output_shape(std::span(&x, 1));
  };
  EXPECT_EQ(shape(2), Shape({kPaddedImages, 8, 10, 3}));
  EXPECT_EQ(shape(Config::List{1, 2}), Shape({kPaddedImages, 6, 10, 3}));
  EXPECT_EQ(shape(Config::List{Config::List{0, 1}, Config::List{2, 3}}),
            Shape({kPaddedImages, 5, 11, 3}));
}

TEST(ZeroPadding2D, RejectsNegativeSizesAndInputsOtherThanImages) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)ZeroPadding2D({.padding = {0, 0, -1, 0}});
            }),
            (Failure{"out_of_range", "padding"}));
  EXPECT_THROW(ZeroPadding2D()(input({3})), ShapeError);
}

TEST(ZeroPadding2D, RoundTripsThroughItsConfiguration) {
  const Config config = ZeroPadding2D({.padding = {1, 2, 3, 4}})->config();
  EXPECT_EQ(create_layer("ZeroPadding2D", config)->config(), config);
}

}  // namespace
}  // namespace octet
