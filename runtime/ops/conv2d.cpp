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
      : LinearKernels(g.output(), g.n, g.oh), s(g), words(g) {}

  std::vector<Tensor> pack(const Tensor& weight) const override {
    return {pack_panels(weight, s.groups)};
  }
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    return pack_phases(s, weight);
  }
  std::vector<Tensor> pack_codes(const Tensor& codes) const override {
    return pack_code_panels(codes, s.groups);
  }
  bool multiplies_codes() const override { return words.possible; }
  std::vector<int64_t> layout() const override { return {s.groups}; }

  void forward(const Band& band, const Reader& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    float* padded = arena::scratch(0, rows.padded() * s.padded_width() * s.c);
    x.read({band.block, rows.first, rows.last}, rows.padding, padded);
    convolve(s, padded, band.last - band.first, panels[0], y);
  }

  bool forward_codes(const Band& band, const Reader& x,
                     const std::vector<Tensor>& panels,
                     kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    auto* padded = reinterpret_cast<kernels::CodeWord*>(
        arena::scratch(0, rows.padded() * words.row));
    if (!x.read_codes({band.block, rows.first, rows.last}, rows.padding,
                      padded)) {
      return false;
    }
    convolve_codes(s, words, padded, band.last - band.first, panels, y);
    return true;
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
  CodeGeometry words;
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
