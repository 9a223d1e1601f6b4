// Zeros among the weights of kernels: the sparsity of a pruned network, which
// training and some post-training methods destroy without masks.
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

/// The zeros of one kernel: a trainable parameter of rank 2 or more.
struct KernelZeros {
  std::string layer;  ///< as in the float model
  std::string parameter;
  int64_t zeros = 0;
  int64_t size = 0;

  /// In [0, 1].
  double share() const {
    return static_cast<double>(zeros) / static_cast<double>(size);
  }
};

/// Counts the zeros of each kernel, in the order of the layers; a kernel that
/// several layers share is counted once. With `quantized`, a weight counts as
/// zero if its quantized value is zero, where its quantizer is enabled and
/// calibrated.
std::vector<KernelZeros> kernel_zeros(const Model& model,
                                      bool quantized = true);

/// The kernels of a model that are pruned: at least 20 % of their weights, and
/// not all of them, are exactly zero.
class PrunedKernels {
 public:
  explicit PrunedKernels(const Model& model);

  const std::vector<KernelZeros>& kernels() const { return kernels_; }
  /// Describes the pruned kernels of `model`, the same one later or its
  /// counterpart, in which more than 1 % of the weights were zeros and no
  /// longer are, quantized where a quantizer does so: the shares before and
  /// after, in all and by layer. Empty if there are none.
  std::string filled(const Model& model) const;
  /// Logs filled() as a warning of `subject`, with the cure.
  void warn_if_filled(std::string_view subject, const Model& model) const;

 private:
  std::vector<KernelZeros> kernels_;
  std::vector<std::vector<bool>> masks_;  // of kernels_: where zeros were
};

}  // namespace octet::quant
