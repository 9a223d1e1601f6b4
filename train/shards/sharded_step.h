// The gradient of a batch, computed in shards by the ranks that train together.
// Internal to train.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <octet/layers/model.h>
#include <octet/train/communicator.h>

#include "fixed_tree.h"
#include "moving_state.h"

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

/// Each rank computes its share of the shards, one after another, and owns a
/// run of the parameters: it has the sums of their gradients and moves them.
/// What a batch does to the model depends on the shards alone, not on how many
/// ranks there are. With one rank and one shard all is left as the model's
/// forward and backward pass leave it.
class ShardedStep {
 public:
  /// `parameters` are what gradients move, in one order on all ranks.
  /// Throws: ValueError for more ranks than parameters.
  ShardedStep(Model& model, Communicator& ranks, int64_t shards,
              std::vector<Variable> parameters);

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
  /// each shard of this rank in order, with its number of samples: it leaves
  /// gradients in the parameters, or, for an empty shard, does nothing.
  /// Throws: on all ranks, what `compute` threw on one.
  BatchSums add_batch(int64_t samples,
                      const std::function<BatchSums(int64_t)>& compute);

  /// Puts the gradient of all batches since the last call into owned().
  void deliver();
  /// Gives all ranks the parameters that their owners moved.
  void share();
  /// The norm of all gradients together, once they are delivered.
  double gradient_norm();

 private:
  using Gradients = std::vector<Tensor>;
  static void add(Gradients& to, const Gradients& from);

  BatchSums add_shards(int64_t samples,
                       const std::function<BatchSums(int64_t)>& compute);
  void take_gradients();
  void reduce(const std::optional<Gradients>& partial, int64_t samples);
  std::span<float> flat_of(size_t parameter);

  Model& model_;
  Communicator& ranks_;
  int64_t shards_;
  std::vector<Variable> parameters_;
  int64_t first_;
  int64_t last_;
  std::vector<int64_t> offsets_;  // of each parameter among all elements
  std::vector<size_t> owners_;    // rank r owns [owners_[r], owners_[r+1])
  std::vector<int64_t> bounds_;   // the same in elements
  FixedTree<Gradients> tree_;
  Gradients sums_;           // of owned(); empty: no gradient
  std::vector<float> flat_;  // all parameters, for exchanges
};

}  // namespace octet::train
