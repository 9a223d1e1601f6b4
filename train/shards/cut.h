// How a batch is cut in shards. Internal to train.
#pragma once

#include <algorithm>
#include <cstdint>

namespace octet::train {

/// How many of a batch's samples are in a shard: they differ by one at most.
constexpr int64_t shard_size(int64_t samples, int64_t shards, int64_t shard) {
  return samples / shards + (shard < samples % shards ? 1 : 0);
}

/// The place of its first sample.
constexpr int64_t shard_begin(int64_t samples, int64_t shards, int64_t shard) {
  return samples / shards * shard + std::min(shard, samples % shards);
}

}  // namespace octet::train
