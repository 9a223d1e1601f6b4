// Memory of a program's activations that is kept from run to run.
#pragma once

#include <mutex>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::inference {

class Workspaces {
 public:
  /// So many blocks of so many floats.
  struct Blocks {
    int64_t count, floats;
  };
  /// Those that are kept from now on, instead of those before.
  void reserve(const std::vector<Blocks>& blocks);
  /// A block of at least so many floats: the smallest one that is there, or a
  /// new one.
  Tensor take(int64_t floats);
  /// Gives back what take() gave. One of a size that is kept is kept, too.
  void give(Tensor block);

 private:
  std::mutex mutex_;
  std::vector<Tensor> free_;
  std::vector<int64_t> sizes_;  // ascending
};

}  // namespace octet::inference
