// Random subsets of a Dataset.
#include <algorithm>
#include <map>
#include <numeric>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/dataset.h>
#include <octet/runtime/error.h>

#include "../support.h"

namespace octet {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Sorted by class, as in folders: 60 samples of class 0, 30 of 1, 10 of 2.
/// Sample i has the value i.
Dataset sorted() {
  Tensor labels(Shape{100}, DType::i64);
  const auto to = labels.data<int64_t>();
  std::fill(to.begin(), to.begin() + 60, 0);
  std::fill(to.begin() + 60, to.begin() + 90, 1);
  std::fill(to.begin() + 90, to.end(), 2);
  return Dataset(counting({100, 1}), labels);
}

std::vector<float> samples(const Dataset& data) {
  return values(data.batch(0, data.size()).input());
}

std::map<int64_t, int64_t> counts(const Dataset& data) {
  std::map<int64_t, int64_t> result;
  const Tensor labels = data.labels();
  for (const int64_t label : labels.data<int64_t>()) ++result[label];
  return result;
}

using Counts = std::map<int64_t, int64_t>;

/// Does not know its labels without reading inputs.
class Reading final : public SampleSource {
 public:
  int64_t size() const override { return 300; }
  std::vector<TensorSpec> input_specs() const override { return {{{1}}}; }
  Batch read(std::span<const int64_t> indices) const override {
    const auto n = static_cast<int64_t>(indices.size());
    Batch batch{Tensor::zeros({n, 1}), Tensor(Shape{n}, DType::i64)};
    std::ranges::copy(indices, batch.label().data<int64_t>().begin());
    return batch;
  }
};

TEST(DatasetShuffled, PermutesSamplesByTheSeed) {
  const std::vector<float> order = samples(sorted().shuffled(7));
  std::vector<float> ascending = order;
  std::ranges::sort(ascending);
  EXPECT_EQ(ascending, values(counting({100})));
  EXPECT_NE(order, ascending);
  EXPECT_EQ(samples(sorted().shuffled(7)), order);
  EXPECT_NE(samples(sorted().shuffled(8)), order);
}

TEST(DatasetShuffled, CombinesWithTakeAndDropAndItself) {
  const Dataset all = sorted().shuffled(7);
  const std::vector<float> order = samples(all);
  EXPECT_EQ(samples(all.drop(10).take(5)),
            std::vector<float>(order.begin() + 10, order.begin() + 15));
  EXPECT_EQ(counts(all.take(50).shuffled(1)), counts(all.take(50)));
  EXPECT_EQ(all.source().size(), 100);
}

// take() would return a single class.
TEST(DatasetSample, HasAllClassesOfSortedData) {
  EXPECT_EQ(counts(sorted().take(20)), (Counts{{0, 20}}));
  const Dataset sample = sorted().sample(40, {.seed = 3});
  EXPECT_EQ(sample.size(), 40);
  EXPECT_EQ(counts(sample).size(), 3u);
  EXPECT_TRUE(std::ranges::is_sorted(samples(sample)));
  EXPECT_EQ(sorted().sample(1000).size(), 100);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)sorted().sample(0); }),
            (Failure{"out_of_range", "dataset"}));
}

TEST(DatasetSample, IsStratifiedOnRequest) {
  EXPECT_EQ(counts(sorted().sample(20, {.stratified = true})),
            (Counts{{0, 12}, {1, 6}, {2, 2}}));
  // 4.2, 2.1, 0.7: the largest fraction is rounded up.
  EXPECT_EQ(counts(sorted().sample(7, {.stratified = true})),
            (Counts{{0, 4}, {1, 2}, {2, 1}}));
  EXPECT_EQ(counts(sorted().sample(100, {.stratified = true})),
            counts(sorted()));
}

TEST(DatasetHoldOut, AssignsEachSampleToOnePart) {
  for (const bool stratified : {false, true}) {
    const auto [first, second] =
        sorted().hold_out(0.2, {.seed = 5, .stratified = stratified});
    EXPECT_EQ(first.size(), 80);
    std::vector<float> both = samples(first);
    const std::vector<float> rest = samples(second);
    both.insert(both.end(), rest.begin(), rest.end());
    std::ranges::sort(both);
    EXPECT_EQ(both, values(counting({100})));
  }
  EXPECT_EQ(counts(sorted().hold_out(0.1, {.stratified = true}).second),
            (Counts{{0, 6}, {1, 3}, {2, 1}}));
}

TEST(DatasetHoldOut, RejectsSharesThatLeaveAPartEmpty) {
  for (const double share : {0.0, 1.0, -0.5, 80.0, 0.001, 0.999, 0.0 / 0.0}) {
    EXPECT_EQ(failure_of<ValueError>([&] { (void)sorted().hold_out(share); }),
              (Failure{"out_of_range", "dataset"}))
        << share;
  }
}

TEST(DatasetHoldOut, RejectsStratifiedTargets) {
  const Dataset targets(noise({10, 2}), noise({10, 3}));
  EXPECT_EQ(failure_of<ValueError>(
                [&] { (void)targets.hold_out(0.5, {.stratified = true}); }),
            (Failure{"dtype_mismatch", "dataset"}));
  EXPECT_EQ(targets.hold_out(0.5).first.labels().shape(), (Shape{5, 3}));
}

TEST(DatasetLabels, AreReadIfTheSourceDoesNotKnowThem) {
  const Dataset data(std::make_shared<Reading>());
  EXPECT_FALSE(data.labels_known());
  EXPECT_TRUE(sorted().labels_known());
  const Tensor labels = data.drop(2).labels();
  ASSERT_EQ(labels.shape(), Shape{298});
  EXPECT_EQ(labels.data<int64_t>()[0], 2);
  EXPECT_EQ(labels.data<int64_t>()[297], 299);
}

TEST(MissingClasses, AreClassesOfTheWholeOnly) {
  const Dataset data = sorted();
  EXPECT_THAT(missing_classes(data.take(70), data), ElementsAre(2));
  EXPECT_THAT(missing_classes(data.drop(95), data), ElementsAre(0, 1));
  EXPECT_THAT(missing_classes(data, data.take(70)), IsEmpty());
  const Dataset reading(std::make_shared<Reading>());
  EXPECT_THAT(missing_classes(reading.take(5), reading), IsEmpty());
}

// 1 / 255 is 0 in C++, which would make every image black.
TEST(Dataset, RejectsAZeroScale) {
  const Tensor images = Tensor::zeros({2, 3}, DType::u8);
  const Tensor labels = Tensor::zeros({2}, DType::i64);
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)Dataset(images, labels, 1 / 255); }),
      (Failure{"out_of_range", "dataset"}));
}

}  // namespace
}  // namespace octet
