// Activation memory of a program, reused across runs. Thread-safe.
#pragma once

#include <mutex>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::inference {

class Workspaces {
 public:
  /// `count` blocks of `floats` floats.
  struct Blocks {
    int64_t count, floats;
  };
  /// Allocates blocks for reuse, in place of the previous ones.
  void reserve(const std::vector<Blocks>& blocks);
  /// Returns a block of at least `floats` floats: the smallest free one, or a
  /// new one.
  Tensor take(int64_t floats);
  /// Returns a block of take(). Blocks of a reserved size are reused.
  void give(Tensor block);

 private:
  std::mutex mutex_;
  std::vector<Tensor> free_;
  std::vector<int64_t> sizes_;  // ascending
};

}  // namespace octet::inference
