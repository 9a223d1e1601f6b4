// SavedTensor: a tensor saved for a backward pass or a deferred value. Detects
// writes through Variables in between; copies nothing.
#pragma once

#include <utility>

#include <octet/runtime/tensor.h>

namespace octet::autograd {

class SavedTensor {
 public:
  SavedTensor() = default;
  SavedTensor(Tensor tensor)
      : tensor_(std::move(tensor)), writes_(tensor_.writes()) {}

  bool empty() const { return tensor_.empty(); }
  const Shape& shape() const { return tensor_.shape(); }
  int64_t size() const { return tensor_.size(); }
  /// The saved tensor. Throws: ValueError if it was written since.
  const Tensor& read() const {
    if (tensor_.writes() != writes_) refuse();
    return tensor_;
  }
  /// The tensor, written or not.
  const Tensor& now() const { return tensor_; }

 private:
  [[noreturn]] static void refuse();

  Tensor tensor_;
  uint64_t writes_ = 0;
};

}  // namespace octet::autograd
