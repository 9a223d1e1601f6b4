// ShardSums: sums the gradients of a rank's shards in shard order. Internal to
// train.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <octet/runtime/tensor.h>

#include "ordered_tree_sum.h"

namespace octet::train {

/// Sums each parameter separately, as gradients arrive in any order: one
/// parameter after another and, for interleaved shards, in turns.
class ShardSums {
 public:
  /// Receives the sum of a parameter after the last shard. Empty means zero.
  using Complete = std::function<void(size_t parameter, const Tensor& sum)>;
  ShardSums(size_t parameters, int64_t shards, Complete complete);

  /// Discards all sums, before and after a batch.
  void clear();
  /// Adds the gradient of a parameter in a shard; takes ownership of the
  /// tensor. Empty means zero.
  void put(size_t parameter, int64_t shard, Tensor gradient);
  /// Adds zero for all parameters without a gradient in this shard.
  void end_shard(int64_t shard);
  /// Returns the sum of a parameter. Empty means zero.
  const Tensor& sum(size_t parameter) const { return sums_[parameter].total; }

 private:
  struct Sum {
    OrderedTreeSum<Tensor> tree;
    int64_t next = 0;                      // next shard to add
    std::map<int64_t, Tensor> early = {};  // gradients of later shards
    Tensor total = {};
  };
  bool has(size_t parameter, int64_t shard) const;

  int64_t shards_;
  Complete complete_;
  std::vector<Sum> sums_;
};

}  // namespace octet::train
