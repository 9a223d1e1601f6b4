// Sparsity of pruned kernels, which training and some post-training methods
// destroy without masks.
//
//   const quant::PrunedKernels pruned(model);
//   train::fit(model, data);  // or anything else that changes weights
//   pruned.warn_if_filled("my job", model);
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>

namespace octet::quant {

/// Zeros of a kernel: a trainable parameter of rank 2 or more.
struct KernelZeros {
  std::string layer;  ///< name in the float model
  std::string parameter;
  int64_t zeros = 0;
  int64_t size = 0;

  /// In [0, 1].
  double share() const {
    return static_cast<double>(zeros) / static_cast<double>(size);
  }
};

/// Counts the zeros of each kernel, in layer order; shared kernels once. With
/// `quantized`, counts quantized values of zero for kernels with an enabled,
/// calibrated quantizer.
std::vector<KernelZeros> kernel_zeros(const Model& model,
                                      bool quantized = true);

/// The pruned kernels of a model: at least 20 % of their weights, but not all,
/// are exactly zero.
class PrunedKernels {
 public:
  explicit PrunedKernels(const Model& model);

  const std::vector<KernelZeros>& kernels() const { return kernels_; }
  /// Describes the kernels of `model` (the model itself, later, or its
  /// counterpart) that lost zeros, after quantization if any, in more than 1 %
  /// of their weights: shares before and after, in total and by layer. Empty if
  /// there are none.
  std::string filled(const Model& model) const;
  /// Logs filled() as a warning with `subject` and a fix.
  void warn_if_filled(std::string_view subject, const Model& model) const;

 private:
  std::vector<KernelZeros> kernels_;
  std::vector<std::vector<bool>> masks_;  // initial zeros of kernels_
};

}  // namespace octet::quant
