#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet {
namespace {

using Floats = std::vector<float>;
constexpr int64_t kN = Shape::kAnySize;

TEST(AveragePooling2D, AveragesEachWindow) {
  const Tensor x = Tensor::of<float>({1, 2, 4, 1}, {1, 2, 3, 4, 5, 6, 7, 10});
  EXPECT_EQ(values(infer(AveragePooling2D(), x)), (Floats{3.5, 6}));
}

TEST(AveragePooling2D, ExcludesPadding) {
  AveragePooling2DOptions options{.padding = Padding::same};
  options.pool_size = {3, 3};
  options.strides = {2, 2};
  for (const int64_t c : {1, 3, 17}) {
    const Tensor y =
        infer(AveragePooling2D(options), Tensor::full({1, 5, 4, c}, 3));
    EXPECT_EQ(y.shape(), Shape({1, 3, 2, c}));
    EXPECT_EQ(values(y), Floats(static_cast<size_t>(6 * c), 3));
  }
}

// Source: keras.layers.AveragePooling2D(3, 2, "same") of Keras 3.15 on JAX,
// for 0, 1, ... 19 as 5 rows of 4.
TEST(AveragePooling2D, PadsAsKeras) {
  AveragePooling2DOptions options{.padding = Padding::same};
  options.pool_size = {3, 3};
  options.strides = {2, 2};
  Tensor x({1, 5, 4, 1});
  for (size_t i = 0; i < 20; ++i) x.f32()[i] = static_cast<float>(i);
  EXPECT_EQ(values(infer(AveragePooling2D(options), x)),
            (Floats{3, 4.5, 9, 10.5, 15, 16.5}));
}

TEST(AveragePooling2D, StridesByThePoolSizeByDefault) {
  AveragePooling2DOptions options;
  options.pool_size = {2, 3};
  EXPECT_EQ(AveragePooling2D(options)(input({8, 9, 2})).shape(),
            Shape({kN, 4, 3, 2}));
  options.strides = {2, 1};
  EXPECT_EQ(AveragePooling2D(options)(input({8, 9, 2})).shape(),
            Shape({kN, 4, 7, 2}));
  // Keras does not support a stride of 0.
  options.strides = {2, 0};
  EXPECT_THROW((void)AveragePooling2D(options), ValueError);
}

TEST(AveragePooling2D, RejectsOptionsOutOfRange) {
  EXPECT_EQ(failure_of<ValueError>([] {
              (void)AveragePooling2D({.pool_size = {0, 2}});
            }),
            (Failure{"out_of_range", "pool_size"}));
  EXPECT_THROW((void)AveragePooling2D({.strides = {2, -1}}), ValueError);
  EXPECT_THROW(AveragePooling2D()(input({28})), ShapeError);
  EXPECT_THROW(AveragePooling2D({.pool_size = {2, 4}})(input({8, 3, 1})),
               ShapeError);
}

TEST(AveragePooling2D, IsQuantizedInFullMode) {
  EXPECT_TRUE(find_layer_def("AveragePooling2D")->qdq.enabled);
  EXPECT_TRUE(find_layer_def("GlobalAveragePooling2D")->qdq.enabled);
  EXPECT_FALSE(find_layer_def("GlobalMaxPooling2D")->qdq.enabled);
}

TEST(AveragePooling2D, RoundTripsThroughItsConfiguration) {
  AveragePooling2DOptions options{.padding = Padding::same};
  options.pool_size = {3, 2};
  options.strides = {1, 4};
  const Config config = AveragePooling2D(options)->config();
  EXPECT_EQ(create_layer("AveragePooling2D", config)->config(), config);
}

}  // namespace
}  // namespace octet
