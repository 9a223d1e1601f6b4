// Remaining time and memory of a run.
#pragma once

#include <chrono>
#include <cstdint>
#include <unordered_map>

#include <octet/runtime/file.h>
#include <octet/runtime/tensor.h>

namespace octet::io::run {

/// Time until a deadline and memory for node outputs. Single-threaded, except
/// is_late().
class Budget {
 public:
  /// Starts the time. REQUIRES: check_limits() has passed.
  explicit Budget(const FileLimits& limits);

  const FileLimits& limits() const { return limits_; }
  bool is_late() const;

  /// Reserves memory for the running node; returns false if too little is left.
  bool take(int64_t bytes);
  /// Returns part of the running node's memory.
  void give_back(int64_t bytes) { taken_ -= bytes; }
  int64_t taken() const { return taken_; }
  /// Ends a node: its memory is free again, except for retained values.
  void settle() { taken_ = 0; }
  /// Retains a value; tensors that share its elements are counted once.
  void hold(const Tensor& value);
  /// Releases a retained value; other values are ignored.
  void release(const Tensor& value);

 private:
  FileLimits limits_;
  std::chrono::steady_clock::time_point deadline_;
  int64_t held_ = 0;   ///< bytes of retained values
  int64_t taken_ = 0;  ///< bytes of the running node
  std::unordered_map<const void*, int64_t> holders_;  ///< by first element
};

}  // namespace octet::io::run
