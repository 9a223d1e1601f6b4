// Gradients of a rank's shards, added in the order of shards. Internal to
// train.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include <octet/runtime/tensor.h>

#include "fixed_tree.h"

namespace octet::train {

/// Of a number of parameters, each for itself: their gradients come at
/// different moments, and where shards go side by side, in turns.
class ShardSums {
 public:
  /// Gets the sum of a parameter, empty if it is zero, once all shards are in.
  using Complete = std::function<void(size_t parameter, const Tensor& sum)>;
  ShardSums(size_t parameters, int64_t shards, Complete complete);

  /// Before a batch, and after it, when nothing is to be kept.
  void clear();
  /// The gradient of a parameter in a shard, which is kept; an empty one is
  /// zero.
  void put(size_t parameter, int64_t shard, Tensor gradient);
  /// Zero for the parameters that a shard has not put.
  void end_shard(int64_t shard);
  /// Empty: zero.
  const Tensor& sum(size_t parameter) const { return sums_[parameter].total; }

 private:
  struct Sum {
    FixedTree<Tensor> tree;
    int64_t next = 0;                      // shard that is to be added
    std::map<int64_t, Tensor> early = {};  // of later shards
    Tensor total = {};
  };
  bool has(size_t parameter, int64_t shard) const;

  int64_t shards_;
  Complete complete_;
  std::vector<Sum> sums_;
};

}  // namespace octet::train
