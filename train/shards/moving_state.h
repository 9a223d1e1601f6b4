// What a forward pass in training changes in a model: running statistics and
// scales that follow. Each shard of a batch begins with what there was before
// the batch. Internal to train.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/quantizer.h>

#include "bytes.h"
#include "fixed_tree.h"

namespace octet::train {

class MovingState {
 public:
  /// Takes note of what `model` has now, before a batch.
  explicit MovingState(Model& model);

  /// Puts it back, before a shard.
  void rewind() const;
  /// Takes what a shard of so many samples made of it; 0: there is no shard.
  void take(int64_t samples);

  /// What the shards of this rank made.
  void write(BytesWriter& bytes);
  /// Gives the model what the shards of all ranks made of it, in the order of
  /// ranks: statistics are the means over the shards, by their samples; a
  /// scale that follows is the largest; one that learns that of the first
  /// shard, whose forward pass may have lifted it to its floor.
  void merge(std::vector<BytesReader>& ranks, int64_t samples) const;

 private:
  struct Following {
    std::shared_ptr<quant::Quantizer> quantizer;
    Config before;
    Config first;                   // after the first shard
    std::optional<double> largest;  // scale
  };

  std::vector<std::pair<Variable, Tensor>> statistics_;
  std::vector<Following> following_;
  std::vector<Variable> learning_;
  FixedTree<std::vector<double>> sums_;
};

}  // namespace octet::train
