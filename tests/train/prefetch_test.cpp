#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

#include "../support.h"

namespace octet::train {
namespace {

using ::testing::Each;

/// Samples [i], which may throw when read.
class CountingSource final : public SampleSource {
 public:
  explicit CountingSource(int64_t size, int64_t broken = -1)
      : size_(size), broken_(broken) {}

  int64_t size() const override { return size_; }
  std::vector<TensorSpec> input_specs() const override { return {{{2, 3, 1}}}; }
  Batch read(std::span<const int64_t> indices) const override {
    ++reads;
    const auto count = static_cast<int64_t>(indices.size());
    Batch batch(Tensor::zeros({count, 2, 3, 1}), Tensor({count}, DType::i64));
    for (size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] == broken_)
        throw FormatError("malformed_file", "sample", "broken");
      batch.input().f32()[6 * i] = static_cast<float>(indices[i]);
      batch.label().data<int64_t>()[i] = indices[i];
    }
    return batch;
  }

  mutable std::atomic<int64_t> reads = 0;

 private:
  int64_t size_;
  int64_t broken_;
};

Dataset numbered(int64_t n) {
  return Dataset(std::make_shared<CountingSource>(n));
}

std::vector<float> everything(const EpochLoader& loader) {
  std::vector<float> values;
  for (const Batch& batch : loader) {
    values.insert(values.end(), batch.input().f32().begin(),
                  batch.input().f32().end());
    for (const int64_t label : batch.label().data<int64_t>()) {
      values.push_back(static_cast<float>(label));
    }
  }
  return values;
}

TEST(Prefetch, MatchesLoadingWithoutPrefetch) {
  std::vector<std::vector<float>> runs;
  for (const int64_t prefetch : {0, 1, 3, 100}) {
    for (const int64_t workers : {1, 4}) {
      runs.push_back(everything(
          EpochLoader(numbered(103), {.batch_size = 10,
                                      .seed = 5,
                                      .epoch = 2,
                                      .augmentation = {random_flip(), cutout()},
                                      .prefetch = prefetch,
                                      .workers = workers})));
    }
  }
  EXPECT_THAT(runs, Each(runs[0]));
}

TEST(Prefetch, StartsAtAnyBatchWithoutReadingEarlierBatches) {
  for (const int64_t prefetch : {0, 3}) {
    const auto source = std::make_shared<CountingSource>(103);
    const EpochLoader loader(Dataset(source), {.batch_size = 10,
                                               .augmentation = {random_flip()},
                                               .prefetch = prefetch,
                                               .workers = 2});
    for (const int64_t first : {0, 1, 7, 10, 11}) {
      source->reads = 0;
      int64_t index = first;
      for (auto at = loader.from(first); at != loader.end(); ++at, ++index) {
        const Batch batch = *at;
        const Batch same = loader.batch(index);
        EXPECT_EQ(std::ranges::equal(batch.label().data<int64_t>(),
                                     same.label().data<int64_t>()),
                  true);
      }
      EXPECT_EQ(index, 11);
      EXPECT_EQ(source->reads, 2 * (11 - first));
    }
    for (const int64_t beyond : {-1, 12}) {
      EXPECT_THROW((void)loader.from(beyond), ValueError);
    }
  }
}

TEST(Prefetch, AugmentsIndependentlyOfTheBatchSize) {
  const auto run = [](int64_t batch_size) {
    std::vector<float> inputs;
    for (const Batch& batch :
         EpochLoader(numbered(50), {.batch_size = batch_size,
                                   .seed = 5,
                                   .augmentation = {random_brightness()},
                                   .prefetch = 2})) {
      inputs.insert(inputs.end(), batch.input().f32().begin(),
                    batch.input().f32().end());
    }
    return inputs;
  };
  EXPECT_EQ(run(7), run(50));
}

TEST(Prefetch, AugmentsEachEpochDifferently) {
  const auto run = [](int64_t epoch) {
    return everything(
        EpochLoader(numbered(20), {.shuffle = false,
                                   .epoch = epoch,
                                   .augmentation = {random_brightness()}}));
  };
  EXPECT_EQ(run(0), run(0));
  EXPECT_NE(run(0), run(1));
}

TEST(Prefetch, ReadsAheadUpToTheRequestedNumber) {
  const auto source = std::make_shared<CountingSource>(100);
  const EpochLoader loader(Dataset(source), {.batch_size = 1, .prefetch = 3});
  const EpochLoader::Iterator it = loader.begin();
  // The current batch and three more are read without a request.
  while (source->reads < 4) std::this_thread::yield();
  *it;
  EXPECT_EQ(source->reads, 4);
}

TEST(Prefetch, StopsWhenItIsAbandoned) {
  const auto source = std::make_shared<CountingSource>(1000);
  {
    const EpochLoader loader(Dataset(source),
                             {.batch_size = 1, .prefetch = 8, .workers = 3});
    for (const Batch& batch : loader) {
      if (batch.label().size() == 1) break;
    }
    const EpochLoader::Iterator never_used = loader.begin();
  }
  EXPECT_LE(source->reads, 2 * (1 + 8));
  EXPECT_EQ(source.use_count(), 1);
}

TEST(Prefetch, OutlivesItsLoader) {
  auto loader = std::make_unique<EpochLoader>(
      numbered(10), EpochLoaderOptions{.batch_size = 5, .prefetch = 1});
  EpochLoader::Iterator it = loader->begin();
  loader.reset();
  EXPECT_EQ((*it).label().size(), 5);
  ++it;
  EXPECT_EQ((*it).label().size(), 5);
}

TEST(Prefetch, ThrowsErrorsWhenTheBatchIsRequested) {
  for (const int64_t workers : {1, 4}) {
    const EpochLoader loader(
        Dataset(std::make_shared<CountingSource>(20, 11)),
        {.batch_size = 4, .shuffle = false, .prefetch = 4, .workers = workers});
    EpochLoader::Iterator it = loader.begin();
    EXPECT_EQ((*it).label().size(), 4);
    ++it;
    EXPECT_EQ((*it).label().size(), 4);
    ++it;
    EXPECT_THROW(*it, FormatError);
    EXPECT_THROW(*it, FormatError);
    // Later batches are still available.
    ++it;
    EXPECT_EQ(elements<int64_t>((*it).label())[0], 12);
  }
}

TEST(Prefetch, ReturnsABatchAgainToAnOlderCopyOfTheIterator) {
  const EpochLoader loader(numbered(9),
                           {.batch_size = 3, .shuffle = false, .prefetch = 1});
  EpochLoader::Iterator it = loader.begin();
  const EpochLoader::Iterator old = it;
  ++it;
  ++it;
  EXPECT_EQ(elements<int64_t>((*it).label())[0], 6);
  EXPECT_EQ(elements<int64_t>((*old).label())[0], 0);
}

TEST(Prefetch, EndsWithoutBatches) {
  const EpochLoader loader(numbered(0), {.prefetch = 2});
  EXPECT_TRUE(loader.begin() == loader.end());
  const EpochLoader three(numbered(3), {.batch_size = 3, .prefetch = 2});
  EXPECT_THROW(*three.end(), ValueError);
}

TEST(Prefetch, RejectsOptionsOutOfRange) {
  EXPECT_THROW(EpochLoader(numbered(3), {.prefetch = -1}), ValueError);
  EXPECT_THROW(EpochLoader(numbered(3), {.prefetch = 5000}), ValueError);
  EXPECT_THROW(EpochLoader(numbered(3), {.workers = 0}), ValueError);
  EXPECT_THROW(EpochLoader(numbered(3), {.augmentation = {nullptr}}),
               ValueError);
}

}  // namespace
}  // namespace octet::train
