// Rounding that is learned: each weight lies between two codes, and a variable
// says how far.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include <octet/runtime/grid.h>
#include <octet/runtime/tensor.h>

namespace octet::quant {

/// W~ = s * (c + h(V)), c being the lower of two neighbouring codes and
/// h(V) = clip(1.2 sigmoid(V) - 0.1, 0, 1), which begins at W/s - c.
/// Source: Nagel et al., "Up or down? Adaptive rounding for post-training
/// quantization", arXiv 2004.10568, section 3.2. There c is floor(W/s) and W~
/// is clipped to the grid; here both codes lie in it, so that weights at its
/// ends are learned, too.
class SoftRounding {
 public:
  /// Weights beyond the grid begin at its end.
  SoftRounding(const Tensor& weights, const Grid& grid);

  // Shapes: of the weights.
  Tensor soft() const;
  Tensor nearest() const;
  /// At the code on the side of h = 1/2 that each is on.
  Tensor rounded() const;

  /// A step of Adam down the gradient, dL/dW~ and that of
  /// lambda * sum(1 - |2h - 1|^beta). Source: Kingma and Ba, arXiv 1412.6980.
  void step(const Tensor& gradient, double lambda, double beta);

  int64_t size() const { return static_cast<int64_t>(v_.size()); }

 private:
  template <class Code>
  Tensor times_scale(const Code& code) const;

  Shape shape_;
  ElementScales scale_;
  std::vector<float> low_, nearest_;  // codes
  std::vector<float> v_;
  std::vector<float> mean_, square_;  // of the gradients, as Adam keeps them
  int steps_ = 0;
};

}  // namespace octet::quant
