// Sizes of the shards of a batch. Internal to train.
#pragma once

#include <algorithm>
#include <cstdint>

namespace octet::train {

/// Returns the number of samples in a shard; sizes differ by at most 1.
constexpr int64_t shard_size(int64_t samples, int64_t shards, int64_t shard) {
  return samples / shards + (shard < samples % shards ? 1 : 0);
}

/// Returns the index of the first sample of a shard in its batch.
constexpr int64_t shard_begin(int64_t samples, int64_t shards, int64_t shard) {
  return samples / shards * shard + std::min(shard, samples % shards);
}

}  // namespace octet::train
