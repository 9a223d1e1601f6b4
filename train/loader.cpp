#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/rng.h>
#include <octet/train/loader.h>

#include "checks.h"

namespace octet::train {
namespace {

std::vector<int64_t> order_of(int64_t size, const LoaderOptions& options) {
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

}  // namespace

Loader::Loader(Dataset data, const LoaderOptions& options)
    : data_(std::move(data)), batch_size_(options.batch_size) {
  check_positive("loader", "batch_size", batch_size_);
  order_ = order_of(data_.size(), options);
}

int64_t Loader::batches() const {
  const int64_t n = data_.size();
  return n / batch_size_ + (n % batch_size_ != 0 ? 1 : 0);
}

Batch Loader::batch(int64_t index) const {
  if (index < 0 || index >= batches()) {
    throw ValueError(fmt::format("loader: expected a batch in [0,{}), got {}",
                                 batches(), index));
  }
  const int64_t first = index * batch_size_;
  const int64_t count = std::min(batch_size_, data_.size() - first);
  return data_.batch(std::span<const int64_t>(order_).subspan(
      static_cast<size_t>(first), static_cast<size_t>(count)));
}

}  // namespace octet::train
