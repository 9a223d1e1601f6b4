// What one run of a file may still cost.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include <octet/io/file_limits.h>
#include <octet/runtime/tensor.h>

namespace octet::io::run {

/// The time until a deadline, and the memory for values that nodes make. Of one
/// thread, but for is_late(), which all may ask.
class Budget {
 public:
  /// The time begins. REQUIRES: check_limits() has passed.
  explicit Budget(const FileLimits& limits);

  const FileLimits& limits() const { return limits_; }
  bool is_late() const;

  /// Takes memory for the node that runs; false if there is too little.
  bool take(int64_t bytes);
  /// The node has no more use for some of it.
  void give_back(int64_t bytes) { taken_ -= bytes; }
  /// The node has ended: what it took is free, but for values that are held.
  void settle() { taken_ = 0; }
  /// A value stays; tensors that share its elements cost nothing more.
  void hold(const Tensor& value);
  /// It goes. Values that are not held cost nothing.
  void release(const Tensor& value);

 private:
  FileLimits limits_;
  std::chrono::steady_clock::time_point deadline_;
  int64_t held_ = 0;                                  ///< bytes
  int64_t taken_ = 0;                                 ///< by the node that runs
  std::unordered_map<const void*, int64_t> holders_;  ///< by first element
};

}  // namespace octet::io::run
