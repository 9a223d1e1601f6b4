// A training in shards with a custom layer, loss or optimizer, and its results
// on different numbers of ranks.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "sharded_job.h"

namespace octet::train {

using MakeLayer = std::function<std::shared_ptr<Layer>()>;

inline Model network_with(const MakeLayer& make) {
  const SymbolicTensor x = input({2});
  SymbolicTensor y = LayerHandle(make())(Dense({.units = 3})(x));
  y = BatchNormalization()(y);
  y = LayerHandle(make())(Dense({.units = 4})(y));
  return Model(x, Dense({.units = 2})(y), {.seed = 1});
}

using Change = std::function<void(FitOptions& options, Model& model)>;

inline std::vector<float> trained(
    const MakeLayer& make, int64_t shards, Communicator* ranks = nullptr,
    const Change& change = [](FitOptions&, Model&) {}) {
  Model model = network_with(make);
  FitOptions options{.epochs = 2,
                     .batch_size = 16,
                     .optimizer = SGD({.learning_rate = 0.1f}),
                     .shards = shards,
                     .batch_statistics = BatchStatistics::synchronized,
                     .communicator = ranks};
  change(options, model);
  // 50 = 3 * 16 + 2: some shards of the last batch are empty.
  fit(model, blobs(50), options);
  return weights_of(model);
}

inline void per_shard(FitOptions& options, Model&) {
  options.batch_statistics = BatchStatistics::per_shard;
}

/// Expects bit-identical results on any number of ranks.
inline void expect_equal_ranks(const MakeLayer& make, const Change& change) {
  const std::vector<float> expected = trained(make, 4, nullptr, change);
  for (const int count : {2, 4}) {
    on_ranks(count, [&](Communicator& rank) {
      EXPECT_EQ(trained(make, 4, &rank, change), expected) << count;
    });
  }
}

template <class ErrorType>
void expect_refusal(const Failure& expected, const MakeLayer& make,
                    const Change& change) {
  for (const int count : {1, 2, 4}) {
    on_ranks(count, [&](Communicator& rank) {
      EXPECT_EQ(
          failure_of<ErrorType>([&] { (void)trained(make, 4, &rank, change); }),
          expected)
          << count;
    });
  }
}

}  // namespace octet::train
