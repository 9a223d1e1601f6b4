#include "shard_sums.h"

#include <utility>

#include "float_tree.h"

namespace octet::train {
namespace {

void add_tensors(Tensor& to, const Tensor& from) {
  add_floats(to.f32(), from.f32());
}

}  // namespace

ShardSums::ShardSums(size_t parameters, int64_t shards, Complete complete)
    : shards_(shards), complete_(std::move(complete)) {
  for (size_t p = 0; p < parameters; ++p) {
    sums_.push_back({.tree = OrderedTreeSum<Tensor>(add_tensors)});
  }
}

void ShardSums::clear() {
  for (Sum& sum : sums_) sum = {.tree = OrderedTreeSum<Tensor>(add_tensors)};
}

bool ShardSums::has(size_t parameter, int64_t shard) const {
  const Sum& sum = sums_[parameter];
  return shard < sum.next || sum.early.contains(shard);
}

void ShardSums::put(size_t parameter, int64_t shard, Tensor gradient) {
  Sum& sum = sums_[parameter];
  sum.early.emplace(shard, std::move(gradient));
  for (auto at = sum.early.find(sum.next); at != sum.early.end();
       at = sum.early.find(++sum.next)) {
    std::optional<Tensor> term;
    if (!at->second.empty()) term = std::move(at->second);
    sum.tree.push(std::move(term));
    sum.early.erase(at);
  }
  if (sum.next < shards_) return;
  sum.total = sum.tree.take().value_or(Tensor());
  complete_(parameter, sum.total);
}

void ShardSums::end_shard(int64_t shard) {
  for (size_t p = 0; p < sums_.size(); ++p) {
    if (!has(p, shard)) put(p, shard, {});
  }
}

}  // namespace octet::train
