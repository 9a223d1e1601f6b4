// InterleavedShards: interleaved computation of the shards of a batch. Internal
// to train.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <octet/train/communicator.h>

namespace octet::train {

/// Operation that the shards of a rank wait for. `idle`: the rank has no
/// shards, `ended`: its shards have ended.
enum class SyncPoint : uint8_t { idle, ended, sum, max };

/// Interleaves shards that need values of the whole batch
/// (CrossShardReduction), in batch normalization or for running scales. The
/// shards of a rank run in turns, in order, from one synchronization point to
/// the next; there the ranks exchange their values.
class InterleavedShards {
 public:
  /// `count` is the number of shards of this rank.
  InterleavedShards(Communicator& ranks, int64_t count);
  ~InterleavedShards();

  /// Runs `body(i)` for the first `busy` shards, as parts of a batch. Calls
  /// `before_turn(i)` before each turn of shard i, and `after_turn(i)` after it
  /// unless the turn throws. Collective.
  /// Throws: on all ranks, an error of a body on any rank.
  void run(int64_t busy, const std::function<void(int64_t)>& body,
           const std::function<void(int64_t)>& before_turn,
           const std::function<void(int64_t)>& after_turn);

 private:
  class Part;

  Communicator& ranks_;
  std::vector<std::unique_ptr<Part>> parts_;
};

}  // namespace octet::train
