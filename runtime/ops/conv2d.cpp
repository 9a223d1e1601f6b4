#include <octet/runtime/ops.h>

#include "../arena.h"
#include "convolution_products.h"
#include "linear.h"

namespace octet {
namespace {

using autograd::Reader;

class Conv2DKernels final : public LinearKernels {
 public:
  explicit Conv2DKernels(const ConvolutionGeometry& g)
      : LinearKernels(g.output(), g.n), s(g) {}

  std::vector<Tensor> pack(const Tensor& weight) const override {
    return {pack_panels(weight, s.groups)};
  }
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    return pack_phases(s, weight);
  }
  std::vector<int64_t> layout() const override { return {s.groups}; }

  void forward(int64_t image, const Reader& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    float* padded = arena::scratch(0, s.padded_size());
    x.read(image, s.padding, padded);
    convolve(s, padded, panels[0], y);
  }

  void backward(const BlockGradient& g) const override {
    float* dy = arena::scratch(0, s.dy_size());
    g.dy.read(g.block, s.dy_padding, dy);
    if (g.dw != nullptr) {
      float* padded = arena::scratch(1, s.padded_size());
      g.x.read(g.block, s.padding, padded);
      add_weight_gradient(s, padded, dy + s.dy_start(), s.dy_width(), g.dw);
    }
    if (g.dx != nullptr) convolve_transposed(s, dy, g.panels, *g.dx);
  }

 private:
  ConvolutionGeometry s;
};

}  // namespace

Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options, int64_t groups) {
  const ConvolutionGeometry s(x.shape(), kernel.shape(), options,
                              {.groups = groups});
  if (groups > 1 && groups == s.c) {
    return depthwise("conv2d", x, kernel, s.k / s.c, 3, options);
  }
  return linear("conv2d", x, kernel, std::make_unique<Conv2DKernels>(s));
}

}  // namespace octet
