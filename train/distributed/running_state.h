// RunningState: merges the model state that training forward passes change,
// running statistics and running scales, over shards and ranks. Internal to
// train.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>
#include <octet/train/fit.h>

#include "bytes.h"
#include "ordered_tree_sum.h"

namespace octet::train {

class RunningState {
 public:
  /// Saves the state of `model` before a batch. The optimizer must not update
  /// parameters until merge().
  RunningState(Model& model, BatchStatistics mode);

  /// Restores the saved state before a shard with separate statistics.
  void rewind() const;
  /// Checks a turn of an interleaved shard: only the first shard may change
  /// statistics. Throws: UnsupportedError if another shard did.
  void check_turn(bool first);
  /// Checks, after all shards of this rank, that gradients went to their
  /// receiver only and no parameter changed. Throws: UnsupportedError
  /// otherwise.
  void check_parameters() const;
  /// Adds the state after a shard of `samples` samples, or after all
  /// interleaved shards. 0: the shard is empty.
  void take(int64_t samples);

  /// Writes the state of this rank's shards.
  void write(BytesWriter& bytes);
  /// Sets the model's state from the shards of all ranks. Statistics per shard
  /// become their mean, weighted by samples; synchronized statistics must be
  /// equal on all ranks. A running scale becomes the largest of all shards; a
  /// learned scale that of the first shard, whose forward pass may have raised
  /// it to its lower bound.
  /// Throws: UnsupportedError if synchronized statistics differ.
  void merge(std::vector<BytesReader>& ranks, int64_t samples) const;

 private:
  struct Statistic {
    Variable variable;
    Tensor before;
    std::string owner;  // "layer 'bn' (BatchNormalization)"
    std::string name;
    Tensor first = {};     // after the first shard; empty: unchanged
    uint64_t version = 0;  // at the last check
  };
  struct Fixed {
    Variable variable;
    std::string owner;
    std::string name;
    uint64_t version;
  };
  struct Following {
    std::shared_ptr<quant::Quantizer> quantizer;
    Config before;
    Config first = {};                   // after the first change
    std::optional<double> largest = {};  // largest scale of the shards
  };

  [[noreturn]] static void refuse(const Statistic& moved);
  /// Throws: UnsupportedError if the statistics of two ranks differ.
  void expect_same(std::span<const double> a, std::span<const double> b) const;
  void assign(std::span<const double> sums, int64_t samples) const;

  BatchStatistics mode_;
  std::vector<Statistic> statistics_;
  std::vector<Following> following_;
  std::vector<Variable> learning_;
  std::vector<Fixed> fixed_;  // parameters, which only the optimizer changes
  OrderedTreeSum<std::vector<double>> sums_;
};

}  // namespace octet::train
