// Gradients of a rank's shards, added in the order of shards. Internal to
// train.
#pragma once

#include <cstdint>
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
  ShardSums(size_t parameters, int64_t shards);

  /// Before a batch, and after it, when nothing is to be kept.
  void clear();
  /// The gradient of a parameter in a shard, which is kept; an empty one is
  /// zero. True for the last one that a parameter lacked: sum() has all then.
  bool put(size_t parameter, int64_t shard, Tensor gradient);
  /// Zero for the parameters that a shard has not put. `done(parameter)` for
  /// each that lacked no more.
  template <class Done>
  void end_shard(int64_t shard, const Done& done) {
    for (size_t p = 0; p < sums_.size(); ++p) {
      if (!has(p, shard) && put(p, shard, {})) done(p);
    }
  }
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
  std::vector<Sum> sums_;
};

}  // namespace octet::train
