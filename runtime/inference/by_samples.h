// Values that depend on the number of samples of a run, such as the geometry of
// an op: created once per number, so that further runs allocate nothing.
// Thread-safe.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace octet::inference {

/// T must own no Tensors: they would be in the memory of a step.
template <class T>
class BySamples {
 public:
  /// Returns the value for n samples; make() returns a shared_ptr to a new one.
  template <class Make>
  std::shared_ptr<const T> of(int64_t n, const Make& make) {
    const std::lock_guard lock(mutex_);
    for (const auto& [samples, value] : values_) {
      if (samples == n) return value;
    }
    if (values_.size() == kMost) values_.erase(values_.begin());
    return values_.emplace_back(n, make()).second;
  }

 private:
  static constexpr size_t kMost = 16;

  std::mutex mutex_;
  std::vector<std::pair<int64_t, std::shared_ptr<const T>>> values_;
};

}  // namespace octet::inference
