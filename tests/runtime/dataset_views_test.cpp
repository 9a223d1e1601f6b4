// Datasets made of others: map() and concat().
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

namespace octet {
namespace {

using ::testing::ElementsAre;

/// Inputs [n,2]: 10 i and 10 i + 1; labels i.
Dataset numbered(int64_t n, int64_t from = 0) {
  Tensor x(Shape{n, 2});
  Tensor y(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    x.f32()[2 * row] = static_cast<float>(10 * (from + i));
    x.f32()[2 * row + 1] = static_cast<float>(10 * (from + i) + 1);
    y.data<int64_t>()[row] = from + i;
  }
  return Dataset(x, y);
}

std::vector<float> inputs(const Batch& batch) {
  const auto data = batch.inputs.f32();
  return {data.begin(), data.end()};
}
std::vector<int64_t> classes(const Tensor& labels) {
  const auto data = labels.data<int64_t>();
  return {data.begin(), data.end()};
}

TEST(DatasetMap, ChangesWhatIsRead) {
  const Dataset data = numbered(4).map([](Batch batch) {
    for (float& x : batch.inputs.f32()) x += 0.5f;
    for (int64_t& label : batch.labels.data<int64_t>()) label %= 2;
    return batch;
  });
  EXPECT_EQ(data.size(), 4);
  EXPECT_THAT(inputs(data.batch(1, 2)),
              ElementsAre(10.5f, 11.5f, 20.5f, 21.5f));
  EXPECT_THAT(classes(data.labels()), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(classes(data.drop(1).shuffled(3).labels()).size(), 3u);
}

TEST(DatasetMap, MayGiveOtherShapesAndTargets) {
  const Dataset data = numbered(3).map([](const Batch& batch) {
    const int64_t n = batch.inputs.shape()[0];
    Batch result{Tensor::zeros({n, 1, 2}), Tensor::zeros({n, 1})};
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      result.labels.f32()[i] = batch.inputs.f32()[2 * i];
    }
    return result;
  });
  EXPECT_EQ(data.input_shape(), Shape({1, 2}));
  EXPECT_EQ(data.label_shape(), Shape({1}));
  EXPECT_EQ(data.label_type(), DType::f32);
  const Tensor targets = data.labels();
  EXPECT_EQ(targets.f32()[2], 20);
  EXPECT_EQ(data.batch(0, 0).inputs.shape(), Shape({0, 1, 2}));
}

TEST(DatasetMap, RefusesAFunctionThatLosesSamples) {
  EXPECT_THROW((void)numbered(3).map({}), ValueError);
  EXPECT_THROW((void)numbered(3).map([](const Batch&) { return Batch{}; }),
               ShapeError);
  const Dataset shorter = numbered(3).map([](Batch batch) {
    batch.inputs = batch.inputs.slice(0, 1);
    batch.labels = batch.labels.slice(0, 1);
    return batch;
  });
  EXPECT_THROW((void)shorter.batch(0, 2), ShapeError);
}

TEST(DatasetMap, RefusesOtherTypesAtOnce) {
  EXPECT_THROW((void)numbered(3).map([](Batch batch) {
    batch.inputs = Tensor::zeros(batch.inputs.shape(), DType::u8);
    return batch;
  }),
               ValueError);
  EXPECT_THROW((void)numbered(3).map([](Batch batch) {
    batch.labels = Tensor::zeros({batch.inputs.shape()[0], 2}, DType::i64);
    return batch;
  }),
               ValueError);
}

TEST(DatasetConcat, HasTheSamplesOfBoth) {
  const Dataset both = numbered(2).concat(numbered(3, 7).drop(1));
  EXPECT_EQ(both.size(), 4);
  EXPECT_TRUE(both.labels_known());
  EXPECT_THAT(classes(both.labels()), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(inputs(both.batch(std::vector<int64_t>{3, 0, 2})),
              ElementsAre(90, 91, 0, 1, 80, 81));
  EXPECT_EQ(both.batch(0, 0).inputs.shape(), Shape({0, 2}));
  EXPECT_EQ(both.concat(both).size(), 8);
}

TEST(DatasetConcat, KeepsTheWeightsThatThereAre) {
  const Dataset weighted = numbered(2).map([](Batch batch) {
    batch.weights = Tensor::full({batch.inputs.shape()[0]}, 0.25f);
    return batch;
  });
  const Tensor weights = numbered(2).concat(weighted).batch(0, 4).weights;
  EXPECT_THAT(std::vector<float>(weights.f32().begin(), weights.f32().end()),
              ElementsAre(1, 1, 0.25f, 0.25f));
}

TEST(DatasetConcat, RefusesUnlikeSamples) {
  const Dataset wide(Tensor::zeros({2, 3}), Tensor::zeros({2}, DType::i64));
  const Dataset targets(Tensor::zeros({2, 2}), Tensor::zeros({2}));
  EXPECT_THROW((void)numbered(2).concat(wide), ShapeError);
  EXPECT_THROW((void)numbered(2).concat(targets), ValueError);
}

}  // namespace
}  // namespace octet
