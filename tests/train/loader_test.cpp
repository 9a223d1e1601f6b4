#include <algorithm>
#include <limits>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

#include "../support.h"

namespace octet::train {
namespace {

/// Sample i has input and label i.
Dataset numbered_samples(int64_t n) {
  Tensor inputs(Shape{n, 1});
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    inputs.f32()[static_cast<size_t>(i)] = static_cast<float>(i);
    labels.data<int64_t>()[static_cast<size_t>(i)] = i;
  }
  return Dataset(inputs, labels);
}

std::vector<int64_t> order_of(const EpochLoader& loader) {
  std::vector<int64_t> order;
  for (const Batch& batch : loader) {
    const auto labels = batch.label().data<int64_t>();
    order.insert(order.end(), labels.begin(), labels.end());
  }
  return order;
}

std::vector<int64_t> first_numbers(int64_t n) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

TEST(EpochLoader, CoversEachSampleOnceWithASmallerLastBatch) {
  const EpochLoader loader(numbered_samples(10), {.batch_size = 4, .seed = 7});
  EXPECT_EQ(loader.batches(), 3);
  std::vector<int64_t> sizes;
  for (const Batch& batch : loader) sizes.push_back(batch.label().size());
  EXPECT_EQ(sizes, (std::vector<int64_t>{4, 4, 2}));
  std::vector<int64_t> order = order_of(loader);
  std::ranges::sort(order);
  EXPECT_EQ(order, first_numbers(10));
}

TEST(EpochLoader, KeepsInputsAndLabelsTogether) {
  for (const Batch& batch :
       EpochLoader(numbered_samples(50), {.batch_size = 7})) {
    for (size_t i = 0; i < batch.label().data<int64_t>().size(); ++i) {
      EXPECT_EQ(batch.input().f32()[i],
                static_cast<float>(batch.label().data<int64_t>()[i]));
    }
  }
}

TEST(EpochLoader, UsesTheDocumentedStreamForItsOrder) {
  const EpochLoader loader(numbered_samples(100), {.seed = 3, .epoch = 5});
  EXPECT_EQ(order_of(loader),
            Rng(3).child("shuffle").child(uint64_t{5}).permutation(100));
}

TEST(EpochLoader, HasAnOrderThatDependsOnSeedAndEpochOnly) {
  const auto order = [](uint64_t seed, int64_t epoch, int64_t batch_size) {
    return order_of(
        EpochLoader(numbered_samples(100),
                    {.batch_size = batch_size, .seed = seed, .epoch = epoch}));
  };
  const auto reference = order(1, 0, 8);
  EXPECT_EQ(order(1, 0, 8), reference);
  EXPECT_EQ(order(1, 0, 33), reference);
  EXPECT_NE(order(1, 1, 8), reference);
  EXPECT_NE(order(2, 0, 8), reference);
}

TEST(EpochLoader, PreservesTheOrderWithoutShuffling) {
  const EpochLoader loader(numbered_samples(10),
                           {.batch_size = 3, .shuffle = false});
  EXPECT_EQ(order_of(loader), first_numbers(10));
}

TEST(EpochLoader, ReturnsEqualBatchesIfTheSizeDivides) {
  const EpochLoader loader(numbered_samples(8), {.batch_size = 4});
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_EQ(loader.batch(1).label().size(), 4);
}

TEST(EpochLoader, ReturnsOneBatchIfTheBatchIsLargerThanTheData) {
  const EpochLoader loader(numbered_samples(3),
                           {.batch_size = std::numeric_limits<int64_t>::max()});
  EXPECT_EQ(loader.batches(), 1);
  EXPECT_EQ(loader.batch(0).label().size(), 3);
}

TEST(EpochLoader, ReturnsNoBatchWithoutData) {
  const EpochLoader loader(numbered_samples(0), {});
  EXPECT_EQ(loader.batches(), 0);
  EXPECT_TRUE(loader.begin() == loader.end());
}

TEST(EpochLoader, ReturnsTheSameBatchRepeatedly) {
  const EpochLoader loader(numbered_samples(10), {.batch_size = 4, .seed = 7});
  const Batch first = loader.batch(1);
  const Batch second = loader.batch(1);
  EXPECT_TRUE(std::ranges::equal(first.label().data<int64_t>(),
                                 second.label().data<int64_t>()));
}

TEST(EpochLoader, SplitsBatchesIntoShards) {
  // Batches of 8 and 2 samples, 4 shards each.
  const EpochLoaderOptions options{.batch_size = 8, .seed = 3, .shards = 4};
  const EpochLoader all(numbered_samples(10), options);
  ASSERT_EQ(all.batches(), 8);
  std::vector<int64_t> order;
  std::vector<int64_t> sizes;
  for (int64_t i = 0; i < all.batches(); ++i) {
    const Batch shard = all.batch(i);
    sizes.push_back(shard.inputs.empty() ? 0 : shard.size());
    if (sizes.back() == 0) continue;
    const auto labels = std::as_const(shard.label()).data<int64_t>();
    order.insert(order.end(), labels.begin(), labels.end());
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{2, 2, 2, 2, 1, 1, 0, 0}));
  EXPECT_EQ(order, order_of(EpochLoader(numbered_samples(10),
                                        {.batch_size = 8, .seed = 3})));

  EpochLoaderOptions part = options;
  part.first_shard = 2;
  part.last_shard = 4;
  const EpochLoader half(numbered_samples(10), part);
  ASSERT_EQ(half.batches(), 4);
  EXPECT_EQ(elements<int64_t>(half.batch(0).label())[0], order[4]);
  EXPECT_TRUE(half.batch(2).inputs.empty());
  part.last_shard = 5;
  EXPECT_THROW(EpochLoader(numbered_samples(10), part), ValueError);
  part.first_shard = 4;
  part.last_shard = 4;
  EXPECT_THROW(EpochLoader(numbered_samples(10), part), ValueError);
  EXPECT_THROW(EpochLoader(numbered_samples(10), {.shards = 0}), ValueError);
}

TEST(EpochLoader, RejectsABatchSizeBelowOne) {
  EXPECT_THROW(EpochLoader(numbered_samples(3), {.batch_size = 0}), ValueError);
  EXPECT_THROW(EpochLoader(numbered_samples(3), {.batch_size = -1}),
               ValueError);
}

TEST(EpochLoader, RejectsBatchesOutOfRange) {
  const EpochLoader loader(numbered_samples(10), {.batch_size = 4});
  EXPECT_THROW(loader.batch(-1), ValueError);
  EXPECT_THROW(loader.batch(3), ValueError);
}

}  // namespace
}  // namespace octet::train
