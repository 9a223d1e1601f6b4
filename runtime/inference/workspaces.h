// Memory of a program's activations that is kept from run to run.
#pragma once

#include <mutex>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::inference {

/// Blocks of one size, for as many runs as there are at once.
class Workspaces {
 public:
  /// From now on blocks hold so many floats, and there are `count` of them.
  void reserve(int64_t count, int64_t floats);
  /// A block that holds at least so many floats.
  Tensor take(int64_t floats);
  /// Gives back what take() gave.
  void give(Tensor block);

 private:
  std::mutex mutex_;
  std::vector<Tensor> free_;
  int64_t floats_ = 0;  // of a block; 0: none is kept
};

}  // namespace octet::inference
