#include "prefetcher.h"

#include <utility>

#include <octet/runtime/parallel.h>

namespace octet::train {

EpochLoader::Prefetcher::Prefetcher(std::function<Batch(int64_t)> make,
                                    int64_t first, int64_t count, int64_t ahead,
                                    int64_t workers)
    : make_(std::move(make)),
      count_(count),
      ahead_(ahead),
      claimed_(first),
      current_(first) {
  for (int64_t i = 0; i < workers; ++i) {
    threads_.emplace_back([this](const std::stop_token& stop) { work(stop); });
  }
}

EpochLoader::Prefetcher::Made EpochLoader::Prefetcher::attempt(
    int64_t index) const {
  try {
    return {make_(index), nullptr};
  } catch (...) {
    return {{}, std::current_exception()};
  }
}

void EpochLoader::Prefetcher::work(const std::stop_token& stop) {
  // The thread pool is reserved for the training thread.
  const SerialGuard guard;
  std::unique_lock lock(mutex_);
  while (true) {
    const bool go = changed_.wait(lock, stop, [this] {
      return claimed_ >= count_ || claimed_ <= current_ + ahead_;
    });
    if (!go || stop.stop_requested() || claimed_ >= count_) return;
    const int64_t index = claimed_++;
    lock.unlock();
    Made made = attempt(index);
    lock.lock();
    if (index >= current_) ready_.emplace(index, std::move(made));
    changed_.notify_all();
  }
}

Batch EpochLoader::Prefetcher::get(int64_t index) {
  std::unique_lock lock(mutex_);
  // An older copy of the iterator may request a batch that was discarded.
  if (index < current_) {
    lock.unlock();
    return make_(index);
  }
  changed_.wait(lock, [&] { return ready_.contains(index); });
  const Made& made = ready_.at(index);
  if (made.error) std::rethrow_exception(made.error);
  return made.batch;
}

void EpochLoader::Prefetcher::advance(int64_t index) {
  const std::scoped_lock lock(mutex_);
  if (index <= current_) return;
  current_ = index;
  ready_.erase(ready_.begin(), ready_.lower_bound(index));
  changed_.notify_all();
}

}  // namespace octet::train
