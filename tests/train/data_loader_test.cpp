#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

#include "../support.h"

namespace octet::train {
namespace {

Dataset numbers(int64_t n) {
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i;
  }
  return {counting({n, 1}), labels};
}

// Returns the samples of each batch of the next epoch.
std::vector<std::vector<float>> epoch_of(DataLoader& loader) {
  std::vector<std::vector<float>> batches;
  for (const Batch& batch : loader) batches.push_back(values(batch.input()));
  return batches;
}

// As torch.utils.data.DataLoader(range(3)).
TEST(DataLoader, HasTheDefaultsOfPyTorch) {
  DataLoader loader(numbers(3));
  const std::vector<std::vector<float>> each{{0}, {1}, {2}};
  EXPECT_EQ(epoch_of(loader), each);
  EXPECT_EQ(epoch_of(loader), each);
  EXPECT_EQ(loader.size(), 3);
  EXPECT_EQ(loader.dataset().size(), 3);
}

TEST(DataLoader, ShufflesEachEpochAnew) {
  DataLoader loader(numbers(50), {.batch_size = 50, .shuffle = true});
  const auto first = epoch_of(loader);
  EXPECT_NE(epoch_of(loader), first);
  DataLoader again(numbers(50), {.batch_size = 50, .shuffle = true});
  EXPECT_EQ(epoch_of(again), first);
}

TEST(DataLoader, DropsTheLastBatch) {
  for (const int64_t workers : {0, 2}) {
    DataLoader loader(
        numbers(7),
        {.batch_size = 3, .num_workers = workers, .drop_last = true});
    EXPECT_EQ(loader.size(), 2);
    EXPECT_EQ(epoch_of(loader),
              (std::vector<std::vector<float>>{{0, 1, 2}, {3, 4, 5}}));
  }
  DataLoader whole(numbers(6), {.batch_size = 3, .drop_last = true});
  EXPECT_EQ(whole.size(), 2);
  DataLoader all(numbers(7), {.batch_size = 3});
  EXPECT_EQ(all.size(), 3);
}

TEST(DataLoader, RejectsOptionsOutOfRange) {
  EXPECT_EQ(failure_of<ValueError>(
                [] { (void)DataLoader(numbers(3), {.num_workers = -1}); }),
            (Failure{"out_of_range", "DataLoader"}));
  EXPECT_THROW((void)DataLoader(numbers(3), {.batch_size = 0}), ValueError);
}

}  // namespace
}  // namespace octet::train
