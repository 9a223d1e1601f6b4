// Values of a program that depend on no input, such as constants repeated per
// sample: computed for the largest number of samples so far and shared by all
// runs. Thread-safe.
#pragma once

#include <mutex>

#include <octet/runtime/program.h>
#include <octet/runtime/tensor.h>

namespace octet::inference {

class LastingValues {
 public:
  struct Values {
    Tensor block;
    int64_t samples = 0;  // that `block` has room for
    bool nan = false;     // a value to be quantized is NaN
  };
  /// Returns the values for at least n samples.
  Values of(const Program::Plan& plan, int64_t n);

 private:
  std::mutex mutex_;
  Values values_;
};

}  // namespace octet::inference
