// Datasets derived from others: map(), concat(), with_weights().
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

#include "../support.h"

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
  const auto data = batch.input().f32();
  return {data.begin(), data.end()};
}
std::vector<int64_t> classes(const Tensor& labels) {
  const auto data = labels.data<int64_t>();
  return {data.begin(), data.end()};
}

TEST(DatasetMap, TransformsSamples) {
  const Dataset data = numbered(4).map([](Batch batch) {
    for (float& x : batch.input().f32()) x += 0.5f;
    for (int64_t& label : batch.label().data<int64_t>()) label %= 2;
    return batch;
  });
  EXPECT_EQ(data.size(), 4);
  EXPECT_THAT(inputs(data.batch(1, 2)),
              ElementsAre(10.5f, 11.5f, 20.5f, 21.5f));
  EXPECT_THAT(classes(data.labels()), ElementsAre(0, 1, 0, 1));
  EXPECT_EQ(classes(data.drop(1).shuffled(3).labels()).size(), 3u);
}

TEST(DatasetMap, MayChangeShapesAndTargets) {
  const Dataset data = numbered(3).map([](const Batch& batch) {
    const int64_t n = batch.input().shape()[0];
    Batch result{Tensor::zeros({n, 1, 2}), Tensor::zeros({n, 1})};
    for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
      result.label().f32()[i] = batch.input().f32()[2 * i];
    }
    return result;
  });
  EXPECT_EQ(data.input_shape(), Shape({1, 2}));
  EXPECT_EQ(data.label_shape(), Shape({1}));
  EXPECT_EQ(data.label_type(), DType::f32);
  const Tensor targets = data.labels();
  EXPECT_EQ(targets.f32()[2], 20);
  EXPECT_EQ(data.batch(0, 0).input().shape(), Shape({0, 1, 2}));
}

TEST(DatasetMap, RejectsAFunctionThatDropsSamples) {
  EXPECT_EQ(failure_of<ValueError>([&] { (void)numbered(3).map({}); }),
            (Failure{"missing_value", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)numbered(3).map([](const Batch&) { return Batch{}; });
            }),
            (Failure{"count_mismatch", "dataset"}));
  const Dataset shorter = numbered(3).map([](Batch batch) {
    batch.input() = batch.input().slice(0, 1);
    batch.label() = batch.label().slice(0, 1);
    return batch;
  });
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)shorter.batch(0, 2); }),
            (Failure{"count_mismatch", "dataset"}));
}

TEST(DatasetMap, RejectsUnsupportedTypesImmediately) {
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)numbered(3).map([](Batch batch) {
                batch.input() = Tensor::zeros(batch.input().shape(), DType::u8);
                return batch;
              });
            }),
            (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)numbered(3).map([](Batch batch) {
                batch.label() =
                    Tensor::zeros({batch.input().shape()[0]}, DType::u8);
                return batch;
              });
            }),
            (Failure{"dtype_mismatch", "dataset"}));
}

TEST(DatasetConcat, HasTheSamplesOfBoth) {
  const Dataset both = numbered(2).concat(numbered(3, 7).drop(1));
  EXPECT_EQ(both.size(), 4);
  EXPECT_TRUE(both.labels_known());
  EXPECT_THAT(classes(both.labels()), ElementsAre(0, 1, 8, 9));
  EXPECT_THAT(inputs(both.batch(std::vector<int64_t>{3, 0, 2})),
              ElementsAre(90, 91, 0, 1, 80, 81));
  EXPECT_EQ(both.batch(0, 0).input().shape(), Shape({0, 2}));
  EXPECT_EQ(both.concat(both).size(), 8);
}

TEST(DatasetConcat, PreservesExistingWeights) {
  const Dataset weighted = numbered(2).map([](Batch batch) {
    batch.weights = Tensor::full({batch.input().shape()[0]}, 0.25f);
    return batch;
  });
  const Tensor weights = numbered(2).concat(weighted).batch(0, 4).weights;
  EXPECT_THAT(std::vector<float>(weights.f32().begin(), weights.f32().end()),
              ElementsAre(1, 1, 0.25f, 0.25f));
}

TEST(DatasetConcat, RejectsIncompatibleSamples) {
  const Dataset wide(Tensor::zeros({2, 3}), Tensor::zeros({2}, DType::i64));
  const Dataset targets(Tensor::zeros({2, 2}), Tensor::zeros({2}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)numbered(2).concat(wide); }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)numbered(2).concat(targets); }),
            (Failure{"dtype_mismatch", "dataset"}));
}

/// Inputs [n,2] and [n], labels i64 [n] and f32 [n], all counting from `from`.
Dataset pairs(int64_t n, int64_t from = 0) {
  const Batch all = numbered(n, from).batch(0, n);
  Tensor second(Shape{n});
  for (int64_t i = 0; i < n; ++i) {
    second.f32()[static_cast<size_t>(i)] = static_cast<float>(from + i);
  }
  return Dataset({{"x", all.input()}, {"z", second}},
                 {{"kind", all.label()}, {"size", second}});
}

TEST(DatasetMap, PreservesNames) {
  const Dataset data = pairs(3).map([](Batch batch) {
    for (float& z : batch.inputs[1].f32()) z *= 2;
    return batch;
  });
  EXPECT_EQ(data.input_specs(), pairs(3).input_specs());
  EXPECT_EQ(data.label_specs(), pairs(3).label_specs());
  EXPECT_EQ(data.batch(2, 1).inputs[1].item(), 4);
  // A different number of tensors drops the names.
  const Dataset single = pairs(3).map(
      [](const Batch& b) { return Batch(b.inputs[1], b.labels[0]); });
  EXPECT_EQ(single.input_specs()[0].name, "");
  EXPECT_EQ(single.batch(2, 1).input().item(), 2);
}

TEST(DatasetConcat, ConcatenatesSeveralInputsAndLabels) {
  const Dataset both = pairs(2).concat(pairs(3, 7));
  ASSERT_TRUE(both.labels_known());
  EXPECT_THAT(classes(both.known_labels()[0]), ElementsAre(0, 1, 7, 8, 9));
  const Batch batch = both.batch(std::vector<int64_t>{4, 1});
  EXPECT_THAT(classes(batch.labels[0]), ElementsAre(9, 1));
  EXPECT_EQ(batch.inputs[1].f32()[0], 9);
  EXPECT_EQ(batch.labels[1].f32()[1], 1);
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)both.concat(numbered(2)); }),
            (Failure{"shape_mismatch", "dataset"}));
  const Batch all = pairs(2).batch(0, 2);
  const Dataset renamed({{"x", all.inputs[0]}, {"w", all.inputs[1]}},
                        {{"kind", all.labels[0]}, {"size", all.labels[1]}});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)both.concat(renamed); }),
            (Failure{"invalid_value", "dataset"}));
}

TEST(DatasetWithWeights, AssignsAWeightPerSample) {
  const Dataset data =
      numbered(4).drop(1).with_weights(Tensor::of<float>({3}, {1, 2, 0.5f}));
  EXPECT_TRUE(data.labels_known());
  const Tensor weights = data.shuffled(2).batch(0, 3).weights;
  const Tensor labels = data.shuffled(2).batch(0, 3).label();
  for (size_t i = 0; i < 3; ++i) {
    constexpr float kOf[] = {0, 1, 2, 0.5f};
    EXPECT_EQ(weights.f32()[i],
              kOf[static_cast<size_t>(labels.data<int64_t>()[i])]);
  }
  // Later weights replace earlier ones.
  const Dataset again = data.with_weights(Tensor::full({3}, 7.0f));
  EXPECT_EQ(again.batch(2, 1).weights.item(), 7);
}

TEST(DatasetWithWeights, RejectsInvalidWeights) {
  const auto with = [](Tensor weights) {
    return numbered(2).with_weights(std::move(weights));
  };
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)with(Tensor()); }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)with(Tensor::zeros({3})); }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)with(Tensor::zeros({2, 1}));
            }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)with(Tensor::zeros({2}, DType::i64)); }),
            (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)with(Tensor::of<float>({2}, {1, -1}));
            }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)with(Tensor::of<float>({2}, {1, NAN}));
            }),
            (Failure{"out_of_range", "dataset"}));
}

}  // namespace
}  // namespace octet
