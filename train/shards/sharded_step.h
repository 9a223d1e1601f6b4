// The gradient of a batch, computed in shards by the ranks that train together.
// Internal to train.
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
#include "moving_state.h"
#include "shard_sums.h"
#include "side_by_side.h"

namespace octet::train {

/// What is reported of a shard or a batch.
struct BatchSums {
  double loss = 0;              ///< over the samples, without regularization
  double regularization = 0;    ///< times the number of samples
  std::vector<double> metrics;  ///< as MetricSums has them

  double mean(double samples) const {
    return loss / samples + regularization / samples;
  }
};

/// Each rank computes its share of the shards, one after another, or side by
/// side where statistics are those of the whole batch, and owns a run of the
/// parameters: it has the sums of their gradients and moves them.
/// What a batch does to the model depends on the shards alone, not on how many
/// ranks there are. With one rank and one shard all is left as the model's
/// forward and backward pass leave it.
class ShardedStep {
 public:
  /// Computes a shard or a whole batch of so many samples. Gradients go to the
  /// receiver; null: to the parameters.
  using Compute =
      std::function<BatchSums(int64_t samples, const GradientReceiver*)>;

  /// `parameters` are what gradients move, in one order on all ranks.
  /// Throws: ValueError for more ranks than parameters.
  ShardedStep(Model& model, Communicator& ranks, int64_t shards,
              BatchStatistics statistics, std::vector<Variable> parameters);

  bool whole() const { return shards_ == 1; }
  /// The shards of this rank: [first, last).
  int64_t first() const { return first_; }
  int64_t last() const { return last_; }

  /// The parameters that this rank moves.
  std::span<const Variable> owned() const;
  /// The place of the first of them.
  size_t first_owned() const {
    return owners_[static_cast<size_t>(ranks_.rank())];
  }

  /// Adds the gradient of a batch of so many samples. `compute` is called for
  /// each shard of this rank in order, for an empty one with 0 samples and no
  /// receiver.
  /// Throws: on all ranks, what `compute` threw on one.
  BatchSums add_batch(int64_t samples, const Compute& compute);

  /// Puts the gradient of all batches since the last call into owned().
  void deliver();
  /// Gives all ranks the parameters that their owners moved.
  void share();
  /// The norm of all gradients together, once they are delivered.
  double gradient_norm();

 private:
  using Gradients = std::vector<Tensor>;

  BatchSums add_shards(int64_t samples, const Compute& compute);
  BatchSums compute_shard(int64_t shard, int64_t size, const Compute& compute);
  std::vector<BatchSums> compute_in_turn(int64_t samples,
                                         const Compute& compute,
                                         MovingState& moving);
  std::vector<BatchSums> compute_side_by_side(int64_t samples,
                                              const Compute& compute,
                                              MovingState& moving);
  /// A byte for each parameter: whether a shard of this rank has a gradient.
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
  std::vector<int64_t> bounds_;   // the same in elements
  uint64_t pass_ = 0;             // before the batch
  std::unordered_map<uint64_t, size_t> place_of_;  // by a parameter's id
  ShardSums shard_sums_;
  std::optional<GradientExchange> exchange_;  // with other ranks
  std::optional<SideBySide> side_by_side_;
  Gradients sums_;  // of owned(), over batches; empty: no gradient
};

}  // namespace octet::train
