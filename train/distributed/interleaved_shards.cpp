#include "interleaved_shards.h"

#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

#include "all_gather_or_throw.h"
#include "bytes.h"
#include "coroutine.h"
#include "ordered_tree_sum.h"

namespace octet::train {
namespace {

using Values = std::vector<double>;

void add_values(Values& to, const Values& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] += from[i];
}

void take_largest(Values& to, const Values& from) {
  for (size_t i = 0; i < to.size(); ++i) to[i] = std::max(to[i], from[i]);
}

OrderedTreeSum<Values> tree_of(SyncPoint meeting) {
  return OrderedTreeSum<Values>(meeting == SyncPoint::max ? take_largest
                                                          : add_values);
}

[[noreturn]] void refuse_difference() {
  throw ValueError(
      "unsupported_model", "synchronized statistics",
      "all shards of a batch must call the same batch normalizations in the "
      "same order. Hint: use BatchStatistics::per_shard if layers branch on "
      "values");
}

}  // namespace

class InterleavedShards::Part final : public CrossShardReduction {
 public:
  explicit Part(int64_t place) : place_(place) {}

  void sum(std::span<double> values) override { meet(SyncPoint::sum, values); }
  void max(std::span<double> values) override { meet(SyncPoint::max, values); }
  int64_t shard() const override { return place_; }

  void start(const std::function<void(int64_t)>& body) {
    const CrossShardReductionGuard guard(this);
    run_.start([this, &body] { body(place_); });
  }
  /// Runs until the shard ends or waits for meeting().
  void resume() {
    meeting_ = SyncPoint::ended;
    run_.resume();
  }
  void cancel() { run_.cancel(); }

  SyncPoint meeting() const { return meeting_; }
  std::span<double> values() const { return values_; }

 private:
  void meet(SyncPoint meeting, std::span<double> values) {
    meeting_ = meeting;
    values_ = values;
    run_.wait();
  }

  int64_t place_;
  SyncPoint meeting_ = SyncPoint::ended;
  std::span<double> values_;
  Coroutine run_;
};

InterleavedShards::InterleavedShards(Communicator& ranks, int64_t count)
    : ranks_(ranks) {
  for (int64_t i = 0; i < count; ++i) {
    parts_.push_back(std::make_unique<Part>(i));
  }
}

InterleavedShards::~InterleavedShards() = default;

void InterleavedShards::run(int64_t busy,
                            const std::function<void(int64_t)>& body,
                            const std::function<void(int64_t)>& before_turn,
                            const std::function<void(int64_t)>& after_turn) {
  const std::span parts = std::span(parts_).first(static_cast<size_t>(busy));
  for (const auto& part : parts) part->start(body);

  // Runs a turn of each shard of this rank. Returns their operation and their
  // combined values.
  const auto turn = [&] {
    for (const auto& part : parts) {
      before_turn(part->shard());
      part->resume();
      after_turn(part->shard());
    }
    const SyncPoint meeting =
        parts.empty() ? SyncPoint::idle : parts[0]->meeting();
    BytesWriter bytes;
    bytes.add_value(meeting);
    OrderedTreeSum<Values> tree = tree_of(meeting);
    for (const auto& part : parts) {
      if (part->meeting() != meeting) refuse_difference();
      if (meeting == SyncPoint::ended) continue;
      if (part->values().size() != parts[0]->values().size()) {
        refuse_difference();
      }
      tree.push(Values(part->values().begin(), part->values().end()));
    }
    if (meeting <= SyncPoint::ended) return bytes.take();
    for (size_t i = parts.size(); i < parts_.size(); ++i) tree.push({});
    const Values total = tree.take().value();
    bytes.add_list(std::span<const double>(total));
    return bytes.take();
  };

  // Combines the values of all ranks. Returns false after the shards have
  // ended.
  const auto meet = [&](const std::vector<std::string>& results) {
    // The first rank always has samples.
    const auto meeting = BytesReader(results[0]).value<SyncPoint>();
    OrderedTreeSum<Values> tree = tree_of(meeting);
    std::optional<size_t> count;
    for (const std::string& text : results) {
      BytesReader bytes(text);
      const auto own = bytes.value<SyncPoint>();
      std::optional<Values> values;
      if (own != SyncPoint::idle) {
        if (own != meeting) refuse_difference();
        if (own != SyncPoint::ended) values = bytes.list<double>();
        const size_t size = values ? values->size() : 0;
        if (count.value_or(size) != size) refuse_difference();
        count = size;
      }
      tree.push(std::move(values));
    }
    if (meeting == SyncPoint::ended) return false;
    const Values total = tree.take().value();
    for (const auto& part : parts) {
      std::ranges::copy(total, part->values().begin());
    }
    return true;
  };

  try {
    while (meet(all_gather_or_throw(ranks_, turn))) {
    }
  } catch (...) {
    for (const auto& part : parts) part->cancel();
    throw;
  }
}

}  // namespace octet::train
