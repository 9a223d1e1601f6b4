// ShardedStep: computes the gradient of a batch in shards, distributed over
// ranks. Internal to train.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include <octet/layers/model.h>
#include <octet/train/communicator.h>
#include <octet/train/fit.h>

#include "gradient_exchange.h"
#include "interleaved_shards.h"
#include "running_state.h"
#include "shard_sums.h"

namespace octet::train {

/// Sums of a shard or a batch.
struct BatchSums {
  double loss = 0;              ///< over the samples, without regularization
  double regularization = 0;    ///< times the number of samples
  std::vector<double> metrics;  ///< as MetricSums::sums()

  double mean(double samples) const {
    return loss / samples + regularization / samples;
  }
};

/// Each rank computes a range of the shards: sequentially, or interleaved for
/// synchronized statistics. It owns a range of the parameters: it sums their
/// gradients and updates them. The result depends on the shards, not on the
/// number of ranks. With a single shard, gradients and state are those of the
/// model's own forward and backward pass.
class ShardedStep {
 public:
  /// Computes a shard or a whole batch of `samples` samples. Gradients go to
  /// the receiver or, if it is null, to the parameters.
  using Compute =
      std::function<BatchSums(int64_t samples, const GradientReceiver*)>;

  /// `parameters` are the trained parameters, in the same order on all ranks.
  /// Throws: ValueError for more ranks than parameters.
  ShardedStep(Model& model, Communicator& ranks, int64_t shards,
              BatchStatistics statistics, std::vector<Variable> parameters);

  bool whole() const { return shards_ == 1; }
  /// Shards of this rank: [first, last).
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

  /// Returns the parameters that this rank updates.
  std::span<const Variable> owned() const;
  /// Returns the index of the first owned parameter.
  size_t first_owned() const {
    return owners_[static_cast<size_t>(ranks_.rank())];
  }

  /// Adds the gradient of a batch of `samples` samples. Calls `compute` for
  /// each shard of this rank in order, for empty shards with 0 samples and
  /// without a receiver. Throws: on all ranks, an error of `compute` on any
  /// rank.
  BatchSums add_batch(int64_t samples, const Compute& compute);

  /// Moves the gradient of all batches since the last call into owned().
  void deliver();
  /// Sends updated parameters from their owners to all ranks.
  void share();
  /// Returns the global norm of all gradients. REQUIRES: deliver().
  double gradient_norm();

 private:
  using Gradients = std::vector<Tensor>;

  BatchSums add_shards(int64_t samples, const Compute& compute);
  BatchSums compute_shard(int64_t shard, int64_t size, const Compute& compute);
  std::vector<BatchSums> compute_in_turn(int64_t samples,
                                         const Compute& compute,
                                         RunningState& moving);
  std::vector<BatchSums> compute_interleaved(int64_t samples,
                                             const Compute& compute,
                                             RunningState& moving);
  /// Returns a byte per parameter: whether a shard of this rank has a gradient.
  std::string gradients_there() const;
  void add_sums_of_owned(const std::vector<bool>& there);

  Model& model_;
  Communicator& ranks_;
  int64_t shards_;
  std::vector<Variable> parameters_;
  int64_t first_;
  int64_t last_;
  std::vector<int64_t> offsets_;  // of each parameter among all elements
  std::vector<size_t> owners_;    // rank r owns [owners_[r], owners_[r+1])
  std::vector<int64_t> bounds_;   // owners_ in elements
  uint64_t pass_ = 0;             // training passes before the batch
  std::unordered_map<uint64_t, size_t> place_of_;  // index by parameter id
  ShardSums shard_sums_;
  std::optional<GradientExchange> exchange_;  // only with several ranks
  std::optional<InterleavedShards> interleaved_;
  Gradients sums_;  // gradients of owned() over batches; empty: none
};

}  // namespace octet::train
