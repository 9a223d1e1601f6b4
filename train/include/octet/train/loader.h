// Loader: a dataset cut into batches, shuffled by a seed.
#pragma once

#include <cstdint>
#include <iterator>
#include <memory>
#include <vector>

#include <octet/runtime/dataset.h>

namespace octet::train {

struct LoaderOptions {
  int64_t batch_size = 64;
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t epoch = 0;  ///< each epoch has an order of its own
};

/// A range of batches for a for loop. The last batch may be smaller.
/// The order is a function of seed and epoch only.
/// Throws: ValueError for batch_size < 1.
class Loader {
 public:
  Loader(Dataset data, const LoaderOptions& options);

  int64_t batches() const;
  Batch batch(int64_t index) const;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = Batch;

    Iterator(const Loader* loader, int64_t index)
        : loader_(loader), index_(index) {}
    Batch operator*() const { return loader_->batch(index_); }
    Iterator& operator++() {
      ++index_;
      return *this;
    }
    void operator++(int) { ++index_; }
    bool operator==(const Iterator& other) const {
      return index_ == other.index_;
    }

   private:
    const Loader* loader_;
    int64_t index_;
  };
  Iterator begin() const { return {this, 0}; }
  Iterator end() const { return {this, batches()}; }

 private:
  Dataset data_;
  int64_t batch_size_;
  std::vector<int64_t> order_;
};

}  // namespace octet::train
