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

/// Loss and metrics, summed over the samples of a shard or a batch.
struct BatchSums {
  double loss = 0;              ///< without regularization
  double regularization = 0;    ///< loss term times the number of samples
  std::vector<double> metrics;  ///< as MetricSums::sums()

  /// Returns the mean loss, with regularization.
  double mean(double samples) const {
    return loss / samples + regularization / samples;
  }
};

/// Each rank computes a range of the shards: sequentially, or interleaved for
/// synchronized statistics. It owns a range of the parameters, sums their
/// gradients and updates them. The result depends on the number of shards, not
/// of ranks. A single shard is computed as without sharding: gradients are
/// accumulated in the parameters.
class ShardedStep {
 public:
  /// Runs the forward and backward pass of a shard, or of a whole batch, with
  /// `samples` samples. Passes gradients to the receiver or, if it is null,
  /// accumulates them in the parameters.
  using Compute =
      std::function<BatchSums(int64_t samples, const GradientReceiver*)>;

  /// `parameters` are the trained parameters, in the same order on all ranks.
  /// REQUIRES: the number of ranks divides `shards`.
  /// Throws: ValueError for more ranks than parameters.
  ShardedStep(Model& model, Communicator& ranks, int64_t shards,
              BatchStatistics statistics, std::vector<Variable> parameters);

  /// Returns whether batches are not split into shards.
  bool whole() const { return shards_ == 1; }
  /// Return the shards of this rank, [first, last).
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

  /// Returns the parameters that this rank updates.
  std::span<const Variable> owned() const;
  /// Returns the index of the first owned parameter.
  size_t first_owned() const {
    return owners_[static_cast<size_t>(ranks_.rank())];
  }

  /// Adds the gradient of a batch of `samples` samples; returns its sums. Calls
  /// `compute` for each shard of this rank in order: for an empty shard with 0
  /// samples and no receiver.
  /// Throws: on all ranks, an error of `compute` on any rank.
  BatchSums add_batch(int64_t samples, const Compute& compute);

  /// Moves the gradients of all batches since the last call to the owned
  /// parameters. Without shards they are there already.
  void deliver();
  /// Sends updated parameters from their owners to all ranks.
  void share();
  /// Returns the global norm of all gradients. REQUIRES: deliver() was called
  /// after the last batch.
  double gradient_norm();

 private:
  using Gradients = std::vector<Tensor>;

  BatchSums add_shards(int64_t samples, const Compute& compute);
  BatchSums compute_shard(int64_t shard, int64_t size, const Compute& compute);
  std::vector<BatchSums> compute_sequentially(int64_t samples,
                                              const Compute& compute,
                                              RunningState& moving);
  std::vector<BatchSums> compute_interleaved(int64_t samples,
                                             const Compute& compute,
                                             RunningState& moving);
  /// Returns a byte per parameter: 1 if a shard of this rank has a gradient.
  std::string gradient_mask() const;
  /// Adds the batch's gradients of owned parameters to sums_. `there[p]`: some
  /// shard of any rank has a gradient of parameter p.
  void add_sums_of_owned(const std::vector<bool>& there);

  Model& model_;
  Communicator& ranks_;
  int64_t shards_;
  std::vector<Variable> parameters_;
  int64_t first_;
  int64_t last_;
  std::vector<int64_t> offsets_;  // of each parameter among all elements
  std::vector<size_t> owners_;    // rank r owns [owners_[r], owners_[r+1])
  std::vector<int64_t> bounds_;   // offsets_ at owners_
  uint64_t pass_ = 0;             // training passes before the batch
  std::unordered_map<uint64_t, size_t> place_of_;  // index by parameter id
  ShardSums shard_sums_;
  std::optional<GradientExchange> exchange_;  // only with several ranks
  std::optional<InterleavedShards> interleaved_;
  Gradients sums_;  // of owned(), since deliver(); empty tensor: no gradient
};

}  // namespace octet::train
