// Interface from ops to a capture (see capture.h). While a recorder is set in a
// thread, ops on captured tensors record themselves instead of computing: their
// outputs have shapes and undefined values.
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
  autograd::GemmType factor;
  Tensor y;
  int64_t multiply_adds = 0;
};

class Recorder {
 public:
  virtual ~Recorder() = default;
  /// Returns false if x was not captured: the caller must compute the op.
  virtual bool linear(const LinearCall& call) = 0;
  /// `value` represents the expression. Returns false like linear().
  virtual bool evaluated(const autograd::Expression& expression,
                         const Tensor& value) = 0;
  /// `value` represents f(x). Returns false like linear().
  virtual bool activated(const Variable& x, const kernels::Activation& f,
                         const Tensor& value) = 0;
  /// `value` represents x times a factor per channel and sample. Returns false
  /// like linear(), or if the shape of `by` differs.
  virtual bool multiplied(const Variable& x, const Variable& by,
                          const Tensor& value) = 0;
  /// `value` represents function({x}), called by the program. Returns false
  /// like linear().
  virtual bool called(const Variable& x, const Program::Function& function,
                      const Tensor& value) = 0;
  /// `value` represents function({x}), a max pooling. Returns false like
  /// linear().
  virtual bool pooled(const Variable& x, const kernels::MaxPool& sizes,
                      const Program::Function& function,
                      const Tensor& value) = 0;
  /// `value` represents x with zero padding around its images.
  virtual void padded(const Variable& x, const Pads& pads,
                      const Tensor& value) = 0;
};

/// Returns the recorder of this thread, or null.
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
