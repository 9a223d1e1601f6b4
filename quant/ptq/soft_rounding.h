// Learned rounding: each weight is between two quantized values, at a position
// given by a variable.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <octet/runtime/quantization.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// W~ = s * (q + h(V)), with q the lower of two adjacent quantized values and
/// h(V) = clip(1.2 sigmoid(V) - 0.1, 0, 1), initially W/s - q.
/// Weights of exactly 0 stay 0.
/// Source: Nagel et al., "Up or down? Adaptive rounding for post-training
/// quantization", arXiv 2004.10568, section 3.2. There q is floor(W/s) and W~
/// is clipped to the range; here both values are in the range, so that weights
/// at its ends are learned, too.
class SoftRounding {
 public:
  /// Weights beyond the range start at its end.
  SoftRounding(const Tensor& weights, const QuantParams& qparams);

  // Shapes: the weights'.
  Tensor soft() const;
  Tensor nearest() const;
  /// Returns the values rounded by h < 1/2 or h >= 1/2.
  Tensor rounded() const;

  /// Takes an Adam step on dL/dW~ and the gradient of lambda * sum(1 - |2h -
  /// 1|^beta).
  /// Source: Kingma and Ba, arXiv 1412.6980.
  void step(const Tensor& gradient, double lambda, double beta);

  int64_t size() const { return static_cast<int64_t>(v_.size()); }

 private:
  template <class Code>
  Tensor times_scale(const Code& code) const;

  Shape shape_;
  ElementScales scale_;
  std::vector<float> low_, nearest_;  // quantized values
  std::vector<bool> fixed_;           // weights of exactly 0 stay 0
  std::vector<float> v_;
  std::vector<float> mean_, square_;  // Adam's moments of the gradient
  int steps_ = 0;
};

}  // namespace octet::quant
