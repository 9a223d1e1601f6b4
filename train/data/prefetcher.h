// Prefetcher: threads that prepare batches ahead of their use. Internal to
// train.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <octet/train/data_loader.h>

namespace octet::train {

/// Prepares batches `first`, ... `count` - 1, at most `ahead` beyond the
/// current batch. A single consumer thread at a time. The destructor waits for
/// batches in preparation.
class EpochLoader::Prefetcher {
 public:
  Prefetcher(std::function<Batch(int64_t)> make, int64_t first, int64_t count,
             int64_t ahead, int64_t workers);

  /// Waits for the batch. Throws: the error of its preparation.
  Batch get(int64_t index);
  /// Makes `index` the current batch and discards earlier batches.
  void advance(int64_t index);

 private:
  struct Made {
    Batch batch;
    std::exception_ptr error;
  };
  void work(const std::stop_token& stop);
  Made attempt(int64_t index) const;

  const std::function<Batch(int64_t)> make_;
  const int64_t count_;
  const int64_t ahead_;

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::map<int64_t, Made> ready_;
  int64_t claimed_;  // batches below are ready or in preparation
  int64_t current_;  // batch in use

  std::vector<std::jthread> threads_;  // last member, destroyed first
};

}  // namespace octet::train
