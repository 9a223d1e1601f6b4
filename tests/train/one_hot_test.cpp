#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

namespace octet::train {
namespace {

using ::testing::ElementsAre;

Dataset three_samples() {
  return Dataset(Tensor::of<float>({3, 1}, {5, 6, 7}),
                 Tensor::of<int64_t>({3}, {2, 0, 2}));
}

TEST(OneHot, ConvertsClassesToRows) {
  const Dataset data = one_hot(three_samples(), 3);
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.label_shape(), Shape({3}));
  const Batch batch = data.batch(1, 2);
  EXPECT_EQ(batch.label().shape(), Shape({2, 3}));
  EXPECT_THAT(batch.label().f32(), ElementsAre(1, 0, 0, 0, 0, 1));
  EXPECT_THAT(batch.input().f32(), ElementsAre(6, 7));
}

TEST(OneHot, AcceptsNoLabels) {
  EXPECT_EQ(one_hot(Tensor::zeros({0}, DType::i64), 4).shape(), Shape({0, 4}));
}

TEST(OneHot, RejectsLabelsOutOfRange) {
  EXPECT_THROW(one_hot(Tensor::of<int64_t>({1}, {3}), 3), ValueError);
  EXPECT_THROW(one_hot(Tensor::of<int64_t>({1}, {-1}), 3), ValueError);
  const Dataset data = one_hot(three_samples(), 2);
  EXPECT_NO_THROW(data.batch(1, 1));
  EXPECT_THROW(data.batch(0, 1), ValueError);
}

TEST(OneHot, RejectsFloatLabelsAndZeroClasses) {
  EXPECT_THROW(one_hot(three_samples(), 0), ValueError);
  EXPECT_THROW(one_hot(one_hot(three_samples(), 3), 3), ValueError);
}

}  // namespace
}  // namespace octet::train
