// What ops tell whoever captures them (see capture.h). While a recorder is set
// in a thread, linear ops and expressions of captured tensors are noted instead
// of computed: their outputs have shapes, and undefined values.
#pragma once

#include <memory>
#include <string>

#include <octet/runtime/program.h>

#include "../ops/weights.h"

namespace octet::inference {

/// A linear op: y = x * weight.
struct LinearCall {
  std::string op;
  std::shared_ptr<const LinearKernels> kernels;
  autograd::Expression x;
  PackedWeight weight;
  autograd::Factor factor;
  Tensor y;
  int64_t multiply_adds = 0;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  /// False if x is nothing captured: then the op is to be computed.
  virtual bool linear(const LinearCall& call) = 0;
  /// `value` stands for what the expression is. False as above.
  virtual bool evaluated(const autograd::Expression& expression,
                         const Tensor& value) = 0;
  /// `value` stands for f(x). False as above.
  virtual bool activated(const Variable& x, const kernels::Activation& f,
                         const Tensor& value) = 0;
  /// `value` stands for x times numbers that are one a channel of each sample.
  /// False as above, and for `by` of another shape.
  virtual bool multiplied(const Variable& x, const Variable& by,
                          const Tensor& value) = 0;
  /// `value` stands for function({x}), which will be called. False as above.
  virtual bool called(const Variable& x, const Program::Function& function,
                      const Tensor& value) = 0;
  /// `value` stands for function({x}), which takes the largest value of each
  /// window. False as above.
  virtual bool pooled(const Variable& x, const kernels::MaxPool& sizes,
                      const Program::Function& function,
                      const Tensor& value) = 0;
  /// `value` is x with zeros around its images.
  virtual void padded(const Variable& x, const Pads& pads,
                      const Tensor& value) = 0;
};

/// Of this thread, or null.
Recorder* recorder();

class RecorderGuard {
 public:
  explicit RecorderGuard(Recorder& recorder);
  ~RecorderGuard();
  RecorderGuard(const RecorderGuard&) = delete;
  RecorderGuard& operator=(const RecorderGuard&) = delete;

 private:
  Recorder* before_;
};

}  // namespace octet::inference
