#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/data_loader.h>

#include "checks.h"
#include "distributed/shard_sizes.h"
#include "prefetcher.h"

namespace octet::train {
namespace {

constexpr int64_t kMostPrefetch = 1024;
constexpr int64_t kMostWorkers = 64;

std::vector<int64_t> order_of(int64_t size, const EpochLoaderOptions& options) {
  if (options.shuffle && size > 0) {
    return Rng(options.seed)
        .child("shuffle")
        .child(static_cast<uint64_t>(options.epoch))
        .permutation(size);
  }
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

int64_t last_shard(const EpochLoaderOptions& options) {
  return options.last_shard == 0 ? options.shards : options.last_shard;
}

void check_options(const EpochLoaderOptions& options) {
  check_positive("EpochLoader", "batch_size", options.batch_size);
  if (options.prefetch < 0 || options.prefetch > kMostPrefetch) {
    throw ValueError("out_of_range", "EpochLoader",
                     fmt::format("prefetch must be in [0, {}], got {}",
                                 kMostPrefetch, options.prefetch));
  }
  if (options.workers < 1 || options.workers > kMostWorkers) {
    throw ValueError("out_of_range", "EpochLoader",
                     fmt::format("workers must be in [1, {}], got {}",
                                 kMostWorkers, options.workers));
  }
  check_positive("EpochLoader", "shards", options.shards);
  const int64_t last = last_shard(options);
  if (options.first_shard < 0 || options.first_shard >= last ||
      last > options.shards) {
    throw ValueError("out_of_range", "EpochLoader",
                     fmt::format("first_shard and last_shard must select at "
                                 "least one of {} shards, got [{}, {})",
                                 options.shards, options.first_shard, last));
  }
  for (const auto& transform : options.augmentation) {
    if (transform == nullptr) {
      throw ValueError("missing_value", "EpochLoader",
                       "augmentation must not contain null pointers");
    }
  }
}

}  // namespace

/// Immutable, so prefetch threads may share it.
class EpochLoader::Epoch {
 public:
  Epoch(Dataset data, const EpochLoaderOptions& options)
      : data_(std::move(data)),
        options_(options),
        order_(order_of(data_.size(), options)),
        stream_(Rng(options.seed)
                    .child("augment")
                    .child(static_cast<uint64_t>(options.epoch))) {}

  const EpochLoaderOptions& options() const { return options_; }

  int64_t batches() const {
    const int64_t n = data_.size();
    return own_shards() *
           (n / options_.batch_size + (n % options_.batch_size != 0 ? 1 : 0));
  }

  Batch batch(int64_t index) const {
    if (index < 0 || index >= batches()) {
      throw ValueError("out_of_range", "EpochLoader",
                       fmt::format("batch index must be in [0, {}), got {}",
                                   batches(), index));
    }
    const int64_t begin = index / own_shards() * options_.batch_size;
    const int64_t samples = std::min(options_.batch_size, data_.size() - begin);
    const int64_t shard = options_.first_shard + index % own_shards();
    const int64_t first = begin + shard_begin(samples, options_.shards, shard);
    const int64_t count = shard_size(samples, options_.shards, shard);
    if (count == 0) return {};
    const Batch batch = data_.batch(std::span<const int64_t>(order_).subspan(
        static_cast<size_t>(first), static_cast<size_t>(count)));
    return augment(options_.augmentation, batch, stream_, first);
  }

  /// Number of shards of each batch that the loader returns.
  int64_t own_shards() const {
    return last_shard(options_) - options_.first_shard;
  }

 private:
  Dataset data_;
  EpochLoaderOptions options_;
  std::vector<int64_t> order_;
  Rng stream_;
};

EpochLoader::EpochLoader(Dataset data, const EpochLoaderOptions& options) {
  check_options(options);
  epoch_ = std::make_shared<const Epoch>(std::move(data), options);
}

int64_t EpochLoader::batches() const { return epoch_->batches(); }

Batch EpochLoader::batch(int64_t index) const { return epoch_->batch(index); }

EpochLoader::Iterator::Iterator(std::shared_ptr<const Epoch> epoch,
                                std::shared_ptr<Prefetcher> prefetcher,
                                int64_t index)
    : epoch_(std::move(epoch)),
      prefetcher_(std::move(prefetcher)),
      index_(index) {}

Batch EpochLoader::Iterator::operator*() const {
  const bool there = index_ >= 0 && index_ < epoch_->batches();
  return prefetcher_ != nullptr && there ? prefetcher_->get(index_)
                                         : epoch_->batch(index_);
}

EpochLoader::Iterator& EpochLoader::Iterator::operator++() {
  ++index_;
  if (prefetcher_ != nullptr) prefetcher_->advance(index_);
  return *this;
}

EpochLoader::Iterator EpochLoader::begin() const { return from(0); }

EpochLoader::Iterator EpochLoader::from(int64_t batch) const {
  if (batch < 0 || batch > batches()) {
    throw ValueError("out_of_range", "EpochLoader",
                     fmt::format("first batch must be in [0, {}], got {}",
                                 batches(), batch));
  }
  const EpochLoaderOptions& options = epoch_->options();
  std::shared_ptr<Prefetcher> prefetcher;
  if (options.prefetch > 0 && batch < batches()) {
    prefetcher = std::make_shared<Prefetcher>(
        [epoch = epoch_](int64_t index) { return epoch->batch(index); }, batch,
        batches(), options.prefetch * epoch_->own_shards(), options.workers);
  }
  return {epoch_, std::move(prefetcher), batch};
}

EpochLoader::Iterator EpochLoader::end() const {
  return {epoch_, nullptr, batches()};
}

}  // namespace octet::train
