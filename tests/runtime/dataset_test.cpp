#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

#include "../support.h"

namespace octet {
namespace {

/// Inputs [n,2] with values 10*i and 10*i + 1, labels i.
Dataset counting(int64_t n) {
  Tensor inputs(Shape{n, 2});
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    inputs.f32()[2 * row] = static_cast<float>(10 * i);
    inputs.f32()[2 * row + 1] = static_cast<float>(10 * i + 1);
    labels.data<int64_t>()[row] = i;
  }
  return Dataset(inputs, labels);
}

std::vector<int64_t> answers(const Tensor& tensor) {
  const auto data = tensor.data<int64_t>();
  return {data.begin(), data.end()};
}

/// Returns batches that contradict its specs.
class WrongSource final : public SampleSource {
 public:
  explicit WrongSource(Batch batch) : batch_(std::move(batch)) {}
  int64_t size() const override { return 3; }
  std::vector<TensorSpec> input_specs() const override { return {{{2}}}; }
  Batch read(std::span<const int64_t>) const override { return batch_; }

 private:
  Batch batch_;
};

TEST(Dataset, GathersTheSamplesAtTheIndicesInTheirOrder) {
  const Dataset data = counting(4);
  EXPECT_EQ(data.size(), 4);
  EXPECT_EQ(data.input_shape(), Shape({2}));
  const Batch batch = data.batch(std::array<int64_t, 3>{3, 0, 3});
  EXPECT_EQ(batch.input().shape(), Shape({3, 2}));
  EXPECT_EQ(values(batch.input()), (std::vector<float>{30, 31, 0, 1, 30, 31}));
  EXPECT_EQ(answers(batch.label()), (std::vector<int64_t>{3, 0, 3}));
}

TEST(Dataset, ReadsARangeInOrder) {
  const Batch batch = counting(4).batch(1, 2);
  EXPECT_EQ(values(batch.input()), (std::vector<float>{10, 11, 20, 21}));
  EXPECT_EQ(answers(batch.label()), (std::vector<int64_t>{1, 2}));
}

TEST(Dataset, MultipliesBytesByTheScaleInFloat) {
  const float scale = 1.0f / 255.0f;
  const Dataset data(Tensor::of<uint8_t>({2, 1, 2, 1}, {0, 1, 127, 255}),
                     Tensor::of<int64_t>({2}, {7, 8}), scale);
  EXPECT_EQ(data.input_shape(), Shape({1, 2, 1}));
  const Batch batch = data.batch(0, 2);
  EXPECT_EQ(batch.input().shape(), Shape({2, 1, 2, 1}));
  EXPECT_EQ(values(batch.input()),
            (std::vector<float>{0, scale, scale * 127, scale * 255}));
}

TEST(Dataset, PreservesNanAndInfinityInFloatInputs) {
  const float inf = std::numeric_limits<float>::infinity();
  const Dataset data(Tensor::of<float>({1, 2}, {NAN, -inf}),
                     Tensor::of<int64_t>({1}, {0}));
  const Batch batch = data.batch(0, 1);
  EXPECT_TRUE(std::isnan(batch.input().f32()[0]));
  EXPECT_EQ(batch.input().f32()[1], -inf);
}

TEST(Dataset, AcceptsScalarSamples) {
  const Dataset data(Tensor::of<float>({3}, {5, 6, 7}),
                     Tensor::of<int64_t>({3}, {0, 1, 2}));
  EXPECT_EQ(data.input_shape(), Shape());
  const Batch batch = data.batch(1, 2);
  EXPECT_EQ(batch.input().shape(), Shape({2}));
  EXPECT_EQ(values(batch.input()), (std::vector<float>{6, 7}));
}

TEST(TensorSpec, ReturnsTheShapeOfABatch) {
  EXPECT_EQ((TensorSpec{.shape = {8, 8, 1}}.batch_shape(3)),
            Shape({3, 8, 8, 1}));
  EXPECT_EQ(TensorSpec{}.batch_shape(2), Shape({2}));
}

TEST(Dataset, ReturnsABatchThatMayBeModified) {
  const Dataset data = counting(2);
  Batch first = data.batch(0, 2);
  first.input().f32()[0] = 99;
  first.label().data<int64_t>()[0] = 99;
  EXPECT_EQ(values(data.batch(0, 1).input())[0], 0);
  EXPECT_EQ(elements<int64_t>(data.batch(0, 1).label())[0], 0);
}

TEST(Dataset, ReadsAnEmptyBatch) {
  const Batch batch = counting(2).batch(2, 0);
  EXPECT_EQ(batch.input().shape(), Shape({0, 2}));
  EXPECT_EQ(batch.label().shape(), Shape({0}));
}

TEST(Dataset, RejectsIndicesOutOfRange) {
  const Dataset data = counting(3);
  const int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)data.batch(std::array<int64_t, 2>{0, 3});
            }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)data.batch(std::array<int64_t, 1>{-1}); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(-1, 1); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(0, 4); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(2, 2); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(1, -1); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(1, most); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.batch(most, most); }),
            (Failure{"out_of_range", "dataset"}));
}

TEST(Dataset, TakesTheFirstSamplesOrAll) {
  const Dataset data = counting(3);
  EXPECT_EQ(data.take(1).size(), 1);
  EXPECT_EQ(data.take(3).size(), 3);
  EXPECT_EQ(data.take(std::numeric_limits<int64_t>::max()).size(), 3);
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.take(2).take(3).size(), 2);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.take(2).batch(2, 1); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.take(0); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.take(-1); }),
            (Failure{"out_of_range", "dataset"}));
}

TEST(Dataset, RejectsMismatchedInputsAndLabels) {
  const Tensor inputs = Tensor::zeros({3, 2});
  EXPECT_EQ(failure_of<ShapeError>(
                [&] { (void)Dataset(inputs, Tensor::zeros({2}, DType::i64)); }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset(inputs, Tensor::zeros({3, 1}, DType::i64));
            }),
            (Failure{"invalid_shape", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset(Tensor::scalar(1), Tensor::zeros({1}, DType::i64));
            }),
            (Failure{"invalid_shape", "dataset"}));
}

TEST(Dataset, RejectsUnsupportedElementTypes) {
  const Tensor labels = Tensor::zeros({3}, DType::i64);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset(Tensor::zeros({3, 2}, DType::i8), labels);
            }),
            (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] {
        (void)Dataset(Tensor::zeros({3, 2}), Tensor::zeros({3}, DType::u8));
      }),
      (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Dataset(Tensor(), labels); }),
            (Failure{"missing_value", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset(Tensor::zeros({3, 2}), Tensor());
            }),
            (Failure{"missing_value", "dataset"}));
}

TEST(Dataset, RejectsAnInvalidScale) {
  const Tensor labels = Tensor::zeros({3}, DType::i64);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset(Tensor::zeros({3, 2}), labels, 0.5f);
            }),
            (Failure{"conflicting_options", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset(Tensor::zeros({3, 2}, DType::u8), labels, NAN);
            }),
            (Failure{"out_of_range", "dataset"}));
}

TEST(Dataset, RejectsANullSource) {
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)Dataset(std::shared_ptr<const SampleSource>()); }),
            (Failure{"missing_value", "dataset"}));
}

TEST(Dataset, RejectsInconsistentBatchesOfASource) {
  const Tensor inputs = Tensor::zeros({1, 2});
  const Tensor labels = Tensor::zeros({1}, DType::i64);
  const auto read = [](Batch batch) {
    return Dataset(std::make_shared<WrongSource>(std::move(batch))).batch(0, 1);
  };
  EXPECT_NO_THROW(read({inputs, labels}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({Tensor::zeros({1, 3}), labels});
            }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({Tensor::zeros({1, 2}, DType::u8), labels});
            }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({Tensor(), labels});
            }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({inputs, Tensor::zeros({2}, DType::i64)});
            }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({inputs, Tensor::zeros({1})});
            }),
            (Failure{"shape_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)read({inputs, Tensor()});
            }),
            (Failure{"count_mismatch", "dataset"}));
}

TEST(Dataset, DropsTheFirstSamples) {
  Tensor inputs(Shape{5, 1});
  for (size_t i = 0; i < 5; ++i) inputs.f32()[i] = static_cast<float>(i);
  const Dataset data(inputs, Tensor::of<int64_t>({5}, {0, 1, 2, 3, 4}));
  const Dataset rest = data.drop(2);
  EXPECT_EQ(rest.size(), 3);
  EXPECT_EQ(elements<int64_t>(rest.batch(0, 3).label())[0], 2);
  EXPECT_EQ(values(rest.drop(1).take(1).batch(0, 1).input())[0], 3.0f);
  EXPECT_EQ(data.drop(0).size(), 5);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)rest.batch(2, 2); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.drop(5); }),
            (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.drop(-1); }),
            (Failure{"out_of_range", "dataset"}));
}

TEST(Dataset, AcceptsTargetsOfAnyShape) {
  const Tensor inputs = Tensor::of<float>({3, 1}, {1, 2, 3});
  const Dataset data(inputs, Tensor::of<float>({3, 1, 2}, {1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.size(), 3);
  EXPECT_EQ(data.label_type(), DType::f32);
  EXPECT_EQ(data.label_shape(), (Shape{1, 2}));
  const Batch batch = data.drop(1).batch(1, 1);
  ASSERT_EQ(batch.label().shape(), (Shape{1, 1, 2}));
  EXPECT_EQ(batch.label().f32()[0], 5.0f);
  EXPECT_EQ(batch.label().f32()[1], 6.0f);
  EXPECT_EQ(data.batch(0, 0).label().shape(), (Shape{0, 1, 2}));
  const Dataset numbers(inputs, Tensor::of<float>({3}, {1, 2, 3}));
  EXPECT_EQ(numbers.label_shape(), Shape{});
}

TEST(Dataset, RejectsUnsupportedLabels) {
  const Tensor inputs = Tensor::zeros({3, 1});
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)Dataset(inputs, Tensor::zeros({3}, DType::i32)); }),
            (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset(inputs, Tensor::zeros({3, 1}, DType::i64));
            }),
            (Failure{"invalid_shape", "dataset"}));
  EXPECT_EQ(
      failure_of<ShapeError>([&] { (void)Dataset(inputs, Tensor::zeros({})); }),
      (Failure{"invalid_shape", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset(inputs, Tensor::zeros({2, 1}));
            }),
            (Failure{"count_mismatch", "dataset"}));
}

TEST(Dataset, RejectsASourceOfNegativeSize) {
  class Sized final : public SampleSource {
   public:
    explicit Sized(int64_t size) : size_(size) {}
    int64_t size() const override { return size_; }
    std::vector<TensorSpec> input_specs() const override { return {{{1}}}; }
    Batch read(std::span<const int64_t>) const override { return {}; }

   private:
    int64_t size_;
  };
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)Dataset(std::make_shared<Sized>(-1)); }),
            (Failure{"invalid_value", "dataset"}));
  EXPECT_EQ(Dataset(std::make_shared<Sized>(0)).size(), 0);
}

TEST(Dataset, ChecksTheWeightsOfASource) {
  class Weighted final : public SampleSource {
   public:
    explicit Weighted(int64_t weights) : weights_(weights) {}
    int64_t size() const override { return 2; }
    std::vector<TensorSpec> input_specs() const override { return {{{1}}}; }
    Batch read(std::span<const int64_t> indices) const override {
      const auto n = static_cast<int64_t>(indices.size());
      return {Tensor::zeros({n, 1}), Tensor::zeros({n}, DType::i64),
              Tensor::full({weights_}, 0.5f)};
    }

   private:
    int64_t weights_;
  };
  const Dataset good(std::make_shared<Weighted>(2));
  EXPECT_EQ(values(good.batch(0, 2).weights)[1], 0.5f);
  const Dataset bad(std::make_shared<Weighted>(3));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)bad.batch(0, 2); }),
            (Failure{"shape_mismatch", "dataset"}));
}

/// Inputs "a" [n,2] and "b" [n], labels "kind" i64 [n] and "size" [n,1].
Dataset with_names(int64_t n) {
  const Dataset one = counting(n);
  const Batch all = one.batch(0, n);
  Tensor b(Shape{n});
  for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
    b.f32()[i] = -static_cast<float>(i);
  }
  return Dataset({{"a", all.input()}, {"b", b}},
                 {{"kind", all.label()}, {"size", b.reshaped({n, 1})}});
}

TEST(Dataset, HasSeveralInputsAndLabels) {
  const Dataset data = with_names(5);
  const std::vector<TensorSpec> inputs{{{2}, DType::f32, "a"},
                                       {{}, DType::f32, "b"}};
  const std::vector<TensorSpec> labels{{{}, DType::i64, "kind"},
                                       {{1}, DType::f32, "size"}};
  EXPECT_EQ(data.input_specs(), inputs);
  EXPECT_EQ(data.label_specs(), labels);
  const Batch batch = data.drop(1).batch(std::array<int64_t, 2>{2, 0});
  EXPECT_EQ(batch.size(), 2);
  EXPECT_EQ(values(batch.inputs[0]), (std::vector<float>{30, 31, 10, 11}));
  EXPECT_EQ(values(batch.inputs[1]), (std::vector<float>{-3, -1}));
  EXPECT_EQ(answers(batch.labels[0]), (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(values(batch.labels[1]), (std::vector<float>{-3, -1}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)batch.input(); }),
            (Failure{"count_mismatch", "batch"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)batch.label(); }),
            (Failure{"count_mismatch", "batch"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.input_shape(); }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.label_type(); }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)data.labels(); }),
            (Failure{"count_mismatch", "dataset"}));
}

TEST(Dataset, MatchesTensorsByPosition) {
  const Tensor x = Tensor::of<float>({2, 1}, {1, 2});
  const Tensor z = Tensor::of<float>({2}, {3, 4});
  const Tensor y = Tensor::of<int64_t>({2}, {0, 1});
  EXPECT_EQ(Dataset({x, z}, y).input_specs().size(), 2u);
  EXPECT_EQ(Dataset({x, z}, {y}).label_specs().size(), 1u);
  EXPECT_EQ(Dataset(x, {y, z}).label_specs().size(), 2u);
  EXPECT_EQ(Dataset({x}, {y}).input_shape(), Shape{1});
  const Dataset unlabeled = Dataset::unlabeled({x, z});
  EXPECT_TRUE(unlabeled.label_specs().empty());
  EXPECT_TRUE(unlabeled.batch(0, 2).labels.empty());
  EXPECT_FALSE(unlabeled.labels_known());
}

TEST(Dataset, RejectsInconsistentTensors) {
  const Tensor x = Tensor::zeros({3, 1});
  const Tensor y = Tensor::zeros({3}, DType::i64);
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset({x, Tensor::zeros({2, 1})}, y);
            }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)Dataset({x}, {y, Tensor::zeros({2}, DType::i64)});
            }),
            (Failure{"count_mismatch", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset({{"a", x}, {"a", x}}, y);
            }),
            (Failure{"duplicate_name", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset({{"a", x}, x}, y);
            }),
            (Failure{"missing_value", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)Dataset({x, Tensor()}, y);
            }),
            (Failure{"missing_value", "dataset"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)Dataset::unlabeled({}); }),
            (Failure{"missing_value", "dataset"}));
}

TEST(Dataset, SelectsInputsAndLabelsInAnyOrder) {
  const Dataset data = with_names(4).drop(1).select(std::array<size_t, 2>{1, 0},
                                                    std::array<size_t, 1>{0});
  EXPECT_EQ(data.input_specs()[0].name, "b");
  EXPECT_EQ(answers(data.labels()), (std::vector<int64_t>{1, 2, 3}));
  const Batch batch = data.batch(2, 1);
  EXPECT_EQ(values(batch.inputs[0]), (std::vector<float>{-3}));
  EXPECT_EQ(values(batch.inputs[1]), (std::vector<float>{30, 31}));
  EXPECT_EQ(answers(batch.label()), (std::vector<int64_t>{3}));
  const std::array<size_t, 1> first{0}, third{2};
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)with_names(2).select(third, first); }),
      (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)with_names(2).select(first, third); }),
      (Failure{"out_of_range", "dataset"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)with_names(2).select({}, first); }),
      (Failure{"missing_value", "dataset"}));
}

}  // namespace
}  // namespace octet
