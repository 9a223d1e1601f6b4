#include "sharded_step.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>

#include "all_gather_or_throw.h"
#include "bytes.h"
#include "float_tree.h"
#include "gradient_squares.h"
#include "shard_sizes.h"

namespace octet::train {
namespace {

/// Partitions whole parameters into ranges of about equal numbers of elements,
/// one per rank. Returns their boundaries.
std::vector<size_t> shard_owners(std::span<const int64_t> offsets,
                                 size_t ranks) {
  const size_t count = offsets.size() - 1;
  std::vector<size_t> begins{0};
  for (size_t r = 1; r < ranks; ++r) {
    const int64_t wanted =
        offsets.back() / static_cast<int64_t>(ranks) * static_cast<int64_t>(r);
    size_t at = begins.back() + 1;  // at least one parameter per rank
    const size_t most = count - (ranks - r);
    while (at < most && offsets[at + 1] - wanted <= wanted - offsets[at]) ++at;
    begins.push_back(std::min(at, most));
  }
  begins.push_back(count);
  return begins;
}

/// Pass numbers reserved for each shard: a loss may run the model again.
constexpr uint64_t kPasses = 1 << 16;

/// During its lifetime, training passes of other models throw.
class InShards {
 public:
  explicit InShards(const Model& model)
      : before_(std::exchange(thread_modes().model_in_shards, &model)) {}
  ~InShards() { thread_modes().model_in_shards = before_; }
  InShards(const InShards&) = delete;
  InShards& operator=(const InShards&) = delete;

 private:
  const void* before_;
};

void write(BytesWriter& bytes, const BatchSums& sums) {
  bytes.add_value(sums.loss);
  bytes.add_value(sums.regularization);
  bytes.add_list(std::span<const double>(sums.metrics));
}

BatchSums read_sums(BytesReader& bytes) {
  BatchSums sums;
  sums.loss = bytes.value<double>();
  sums.regularization = bytes.value<double>();
  sums.metrics = bytes.list<double>();
  return sums;
}

void add_sums(BatchSums& to, const BatchSums& from) {
  to.loss += from.loss;
  to.regularization += from.regularization;
  to.metrics.resize(std::max(to.metrics.size(), from.metrics.size()));
  for (size_t i = 0; i < from.metrics.size(); ++i) {
    to.metrics[i] += from.metrics[i];
  }
}

}  // namespace

ShardedStep::ShardedStep(Model& model, Communicator& ranks, int64_t shards,
                         BatchStatistics statistics,
                         std::vector<Variable> parameters)
    : model_(model),
      ranks_(ranks),
      shards_(shards),
      parameters_(std::move(parameters)),
      first_(shards / ranks.size() * ranks.rank()),
      last_(first_ + shards / ranks.size()),
      shard_sums_(parameters_.size(), last_ - first_,
                  [this](size_t parameter, const Tensor& sum) {
                    if (exchange_) exchange_->put(parameter, sum);
                  }) {
  const auto count = static_cast<size_t>(ranks.size());
  if (parameters_.size() < count) {
    throw ValueError(
        "out_of_range", "fit",
        fmt::format("the number of ranks must be at most {}, the number of "
                    "parameters of model '{}', got {}",
                    parameters_.size(), model.name(), count));
  }
  offsets_.push_back(0);
  for (const Variable& parameter : parameters_) {
    place_of_.emplace(parameter.id(), place_of_.size());
    offsets_.push_back(offsets_.back() + parameter.shape().size());
  }
  owners_ = shard_owners(offsets_, count);
  for (const size_t owner : owners_) bounds_.push_back(offsets_[owner]);
  sums_.resize(owned().size());
  if (count > 1) exchange_.emplace(ranks_, offsets_, owners_);
  if (statistics == BatchStatistics::synchronized && !whole()) {
    interleaved_.emplace(ranks_, last_ - first_);
  }
}

std::span<const Variable> ShardedStep::owned() const {
  const size_t end = owners_[static_cast<size_t>(ranks_.rank()) + 1];
  return std::span(parameters_).subspan(first_owned(), end - first_owned());
}

BatchSums ShardedStep::add_batch(int64_t samples, const Compute& compute) {
  return whole() ? compute(samples, nullptr) : add_shards(samples, compute);
}

BatchSums ShardedStep::compute_shard(int64_t shard, int64_t size,
                                     const Compute& compute) {
  // The pass number selects the random stream of layers such as Dropout.
  model_.set_training_passes(pass_ + static_cast<uint64_t>(shard) * kPasses);
  const InShards guard(model_);
  const GradientReceiver receive = [&](const Variable& leaf,
                                       const Tensor& gradient) {
    const auto place = place_of_.find(leaf.id());
    if (place == place_of_.end()) return;
    // A copy, as the tensor may be shared and is modified by later additions.
    shard_sums_.put(place->second, shard - first_, gradient.clone());
    if (exchange_ && !interleaved_) exchange_->progress();
  };
  BatchSums sums = compute(size, size > 0 ? &receive : nullptr);
  shard_sums_.end_shard(shard - first_);
  return sums;
}

std::vector<BatchSums> ShardedStep::compute_sequentially(int64_t samples,
                                                         const Compute& compute,
                                                         RunningState& moving) {
  std::vector<BatchSums> sums;
  for (int64_t shard = first_; shard < last_; ++shard) {
    const int64_t size = shard_size(samples, shards_, shard);
    moving.rewind();
    sums.push_back(compute_shard(shard, size, compute));
    moving.take(size);
  }
  return sums;
}

std::vector<BatchSums> ShardedStep::compute_interleaved(int64_t samples,
                                                        const Compute& compute,
                                                        RunningState& moving) {
  const int64_t busy = std::clamp(samples - first_, int64_t{0}, last_ - first_);
  const auto size_of = [&](int64_t i) {
    return shard_size(samples, shards_, first_ + i);
  };
  std::vector<BatchSums> sums(static_cast<size_t>(last_ - first_));
  std::vector<Model::PassState> training(static_cast<size_t>(busy));
  interleaved_->run(
      busy,
      [&](int64_t i) {
        sums[static_cast<size_t>(i)] =
            compute_shard(first_ + i, size_of(i), compute);
      },
      [&](int64_t i) {
        model_.swap_pass_state(training[static_cast<size_t>(i)]);
      },
      [&](int64_t i) {
        model_.swap_pass_state(training[static_cast<size_t>(i)]);
        moving.check_turn(i == 0);
        if (exchange_) exchange_->progress();
      });
  int64_t own = 0;
  for (int64_t i = 0; i < last_ - first_; ++i) {
    if (i >= busy) (void)compute_shard(first_ + i, 0, compute);
    own += size_of(i);
  }
  // The first shard changed the shared state for all.
  moving.take(own);
  return sums;
}

BatchSums ShardedStep::add_shards(int64_t samples, const Compute& compute) {
  RunningState moving(model_, interleaved_ ? BatchStatistics::synchronized
                                           : BatchStatistics::per_shard);
  pass_ = model_.training_passes();
  shard_sums_.clear();
  // Only the last shards can be empty.
  const int64_t own = shards_ / ranks_.size();
  const auto busy = static_cast<int>(std::min<int64_t>(
      (std::min(samples, shards_) + own - 1) / own, ranks_.size()));
  if (exchange_) exchange_->begin(busy);
  std::vector<BatchSums> of_shards;
  std::exception_ptr failed;
  try {
    of_shards = interleaved_ ? compute_interleaved(samples, compute, moving)
                             : compute_sequentially(samples, compute, moving);
  } catch (...) {
    failed = std::current_exception();
  }
  model_.set_training_passes(pass_ + static_cast<uint64_t>(shards_) * kPasses);
  if (exchange_) exchange_->finish();
  const std::vector<std::string> results = all_gather_or_throw(ranks_, [&] {
    if (failed) std::rethrow_exception(failed);
    moving.check_parameters();
    BytesWriter bytes;
    for (const BatchSums& sums : of_shards) write(bytes, sums);
    moving.write(bytes);
    bytes.add_text(gradient_mask());
    return bytes.take();
  });
  BatchSums sums;
  std::vector<BytesReader> readers(results.begin(), results.end());
  for (BytesReader& bytes : readers) {
    for (int64_t shard = first_; shard < last_; ++shard) {
      add_sums(sums, read_sums(bytes));
    }
  }
  moving.merge(readers, samples);
  std::vector<bool> there(parameters_.size());
  for (BytesReader& bytes : readers) {
    const std::string of_rank = bytes.text();
    for (size_t p = 0; p < there.size(); ++p) {
      if (of_rank[p] != 0) there[p] = true;
    }
  }
  add_sums_of_owned(there);
  return sums;
}

std::string ShardedStep::gradient_mask() const {
  std::string there;
  for (size_t p = 0; p < parameters_.size(); ++p) {
    there += shard_sums_.sum(p).empty() ? 0 : 1;
  }
  return there;
}

void ShardedStep::add_sums_of_owned(const std::vector<bool>& there) {
  const size_t begin = first_owned();
  for (size_t i = 0; i < sums_.size(); ++i) {
    const size_t p = begin + i;
    if (!there[p]) continue;
    const Tensor gradient =
        exchange_ ? Tensor::of(owned()[i].shape(), exchange_->sum(p))
                  : shard_sums_.sum(p);
    if (sums_[i].empty()) {
      sums_[i] = gradient;
    } else {
      add_floats(sums_[i].f32(), gradient.f32());
    }
  }
  shard_sums_.clear();
}

void ShardedStep::deliver() {
  if (whole()) return;
  for (size_t i = 0; i < sums_.size(); ++i) {
    if (!sums_[i].empty()) owned()[i].set_grad(sums_[i]);
    sums_[i] = {};
  }
}

void ShardedStep::share() {
  if (!exchange_) return;
  const size_t begin = first_owned();
  const size_t end = begin + owned().size();
  const std::span<float> flat = exchange_->flat();
  for (size_t p = begin; p < end; ++p) {
    std::ranges::copy(parameters_[p].value().f32(), flat.begin() + offsets_[p]);
  }
  ranks_.share_slices(flat, bounds_);
  for (size_t p = 0; p < parameters_.size(); ++p) {
    if (p >= begin && p < end) continue;
    const auto to = parameters_[p].mutable_value();
    std::copy_n(flat.begin() + offsets_[p], to.size(), to.begin());
  }
}

double ShardedStep::gradient_norm() {
  const std::vector<double> own = gradient_squares(owned());
  BytesWriter bytes;
  bytes.add_list(std::span<const double>(own));
  double sum = 0;
  for (const std::string& text : ranks_.gather(bytes.take())) {
    for (const double each : BytesReader(text).list<double>()) sum += each;
  }
  return std::sqrt(sum);
}

}  // namespace octet::train
