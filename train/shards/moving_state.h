// What a forward pass in training changes in a model: running statistics and
// scales that follow. Internal to train.
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
#include "fixed_tree.h"

namespace octet::train {

class MovingState {
 public:
  /// Takes note of what `model` has now, before a batch, in which the optimizer
  /// moves no parameter.
  MovingState(Model& model, BatchStatistics mode);

  /// Puts it back, before a shard that is a batch by itself.
  void rewind() const;
  /// After a turn of a shard that goes beside others: only the first one moves
  /// statistics. Throws: UnsupportedError if another one did.
  void check_turn(bool first);
  /// After all shards of this rank: gradients went to their receiver, and no
  /// parameter moved. Throws: UnsupportedError if it did.
  void check_parameters() const;
  /// Takes what a shard of so many samples, or shards side by side, made of it;
  /// 0: there is none.
  void take(int64_t samples);

  /// What the shards of this rank made.
  void write(BytesWriter& bytes);
  /// Gives the model what the shards of all ranks made of it, in the order of
  /// ranks. Statistics of shards are their means, by samples; synchronized ones
  /// are the same on all ranks. A scale that follows is the largest; one that
  /// learns that of the first shard, whose forward pass may have lifted it to
  /// its floor.
  /// Throws: UnsupportedError if synchronized statistics differ.
  void merge(std::vector<BytesReader>& ranks, int64_t samples) const;

 private:
  struct Statistic {
    Variable variable;
    Tensor before;
    std::string owner;  // "layer 'bn' (BatchNormalization)"
    std::string name;
    Tensor first = {};     // what the first shard left, empty: as before
    uint64_t version = 0;  // that was seen
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
    Config first = {};                   // after the first that it followed
    std::optional<double> largest = {};  // scale
  };

  [[noreturn]] static void refuse(const Statistic& moved);
  /// Throws: UnsupportedError if the statistics of two ranks differ.
  void expect_same(std::span<const double> a, std::span<const double> b) const;
  void assign(std::span<const double> sums, int64_t samples) const;

  BatchStatistics mode_;
  std::vector<Statistic> statistics_;
  std::vector<Following> following_;
  std::vector<Variable> learning_;
  std::vector<Fixed> fixed_;  // parameters, which the optimizer moves
  FixedTree<std::vector<double>> sums_;
};

}  // namespace octet::train
