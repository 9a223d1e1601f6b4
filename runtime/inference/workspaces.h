// Memory of a program's runs: activations and handles, reused. Thread-safe.
#pragma once

#include <mutex>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::inference {

/// Memory of a run.
struct Workspace {
  Tensor block;                   // of activations
  std::vector<Tensor> tensors;    // by storage; empty unless in use
  std::vector<Tensor> arguments;  // of the current step
};

class Workspaces {
 public:
  /// `count` blocks of `floats` floats.
  struct Blocks {
    int64_t count, floats;
  };
  /// Allocates workspaces for reuse, in place of the previous ones. Their
  /// vectors have room for `storages` tensors.
  void reserve(const std::vector<Blocks>& blocks, size_t storages);
  /// Returns a workspace with at least `floats` floats: the smallest free one,
  /// or a new one.
  Workspace take(int64_t floats, size_t storages);
  /// Returns a workspace of take(). Blocks of a reserved size are reused.
  void give(Workspace workspace);

 private:
  std::mutex mutex_;
  std::vector<Workspace> free_;
  std::vector<int64_t> sizes_;  // ascending
};

}  // namespace octet::inference
