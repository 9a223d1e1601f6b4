#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "convolution_products.h"
#include "linear.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::ExpressionEvaluator;

// Names follow the convolution that is transposed: our output is its image
// ([n,h,w,c]), our input its output ([n,oh,ow,k]). The gradient of the
// transpose is the convolution.
class Conv2DTransposeKernels final : public LinearKernels {
 public:
  Conv2DTransposeKernels(const ConvolutionGeometry& g,
                         const kernels::CodeTable& codes)
      : LinearKernels({g.n, g.h, g.w, g.c}, g.n, 1, scale_axis(g), codes),
        s(g),
        code_windows(
            windows(g.dy_width() * codes.words(g.k), codes.words(g.k), true)) {}

  std::vector<Tensor> pack(const Tensor& weight) const override {
    return pack_phases(s, weight);
  }
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    return {pack_panels(weight, s.groups)};
  }
  std::vector<Tensor> pack_codes(const Tensor& codes,
                                 int zero_byte) const override {
    return pack_code_phases(s, code_table, codes, zero_byte);
  }
  // An upper bound. Phases without taps, as with strides larger than the
  // kernel, have no INT8 kernel.
  int64_t code_products() const override {
    const bool reached = std::ranges::all_of(
        s.phases, [](const auto& phase) { return !phase.taps.empty(); });
    return s.groups == 1 && reached ? s.kh * s.kw * s.k : 0;
  }
  std::vector<int64_t> layout() const override {
    std::vector<int64_t> result{s.groups};
    for (const ConvolutionGeometry::Phase& phase : s.phases) {
      result.push_back(static_cast<int64_t>(phase.taps.size()));
      result.insert(result.end(), phase.taps.begin(), phase.taps.end());
    }
    return result;
  }

  void forward(const RowRange& band, const ExpressionEvaluator& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    float* padded = arena::scratch(0, s.dy_size());
    x.read(band.block, s.dy_padding, padded);
    convolve_transposed(s, padded, panels, y);
  }

  bool forward_codes(const RowRange& band, const ExpressionEvaluator& x,
                     const std::vector<Tensor>& panels,
                     kernels::Epilogue y) const override {
    const int64_t rows = s.dy_padding.top + s.oh + s.dy_padding.bottom;
    auto* padded = reinterpret_cast<kernels::CodeWord*>(
        arena::scratch(0, rows * code_windows.line));
    if (!x.read_codes({band.block, 0, s.oh}, s.dy_padding, code_table,
                      padded)) {
      return false;
    }
    multiply_quantized(code_windows, padded, {s.h, s.w, 0, s.c}, panels, y);
    return true;
  }

  bool has_windows() const override { return true; }
  Pads padding() const override { return s.dy_padding; }
  WindowStrides windows(int64_t row, int64_t pixel, bool codes) const override {
    return phase_windows(s, row, pixel,
                         codes ? code_table.words(s.k) : s.group_k());
  }
  Size2 upsampling() const override { return s.strides; }
  void multiply(const WindowStrides& at, const float* x,
                const OutputTile& outputs, const std::vector<Tensor>& panels,
                const kernels::Epilogue& y) const override {
    convolve_transposed(s, at, x, outputs, panels, y);
  }
  void multiply_quantized(const WindowStrides& at, const kernels::CodeWord* x,
                          const OutputTile& outputs,
                          const std::vector<Tensor>& panels,
                          const kernels::Epilogue& y) const override {
    convolve_transposed_codes(s, code_table, at, x, outputs, panels, y);
  }

  void backward(const BlockGradient& g) const override {
    float* padded = arena::scratch(0, s.padded_size());
    g.dy.read(g.block, s.padding, padded);
    if (g.dw != nullptr) {
      add_weight_gradient(s, s.oh, padded, g.x.image(g.block, 1), s.ow, g.dw);
    }
    if (g.dx != nullptr) {
      convolve(s, windows_of(s, s.padded_width() * s.c, s.c), padded,
               {s.oh, s.ow, 0, s.k}, g.panels[0], *g.dx);
    }
  }

 private:
  // A scale of the kernel applies to an output of each group, which are not
  // adjacent: such kernels are multiplied as real values.
  static int scale_axis(const ConvolutionGeometry& g) {
    constexpr int kNone = 0;
    return g.groups == 1 ? 2 : kNone;
  }

  ConvolutionGeometry s;
  WindowStrides code_windows;
};

ConvolutionGeometry geometry_of(const Shape& x, const Shape& kernel,
                                Size2 output, const WindowOptions& options,
                                int64_t groups) {
  if (x.rank() != 4 || kernel.rank() != 4 || x[3] != kernel[3]) {
    throw ShapeError(
        "shape_mismatch", "conv2d_transpose",
        fmt::format(
            "x must be [n,h,w,c] and the kernel [kh,kw,k/groups,c], got {} and "
            "{}",
            x.to_string(), kernel.to_string()));
  }
  if (groups < 1 || x[3] % groups != 0) {
    throw ValueError("out_of_range", "conv2d_transpose",
                     fmt::format("groups must divide the {} channels, got {}",
                                 x[3], groups));
  }
  if (output.h < 1 || output.w < 1 || kernel[2] < 1) {
    throw ValueError(
        "out_of_range", "conv2d_transpose",
        fmt::format("the output must be at least 1x1x1, got {}x{}x{}", output.h,
                    output.w, kernel[2]));
  }
  const ConvolutionGeometry s({x[0], output.h, output.w, kernel[2] * groups},
                              kernel, options,
                              {.op = "conv2d_transpose", .groups = groups});
  if (s.oh != x[1] || s.ow != x[2]) {
    throw ShapeError(
        "shape_mismatch", "conv2d_transpose",
        fmt::format("an output of {}x{} needs an input of {}x{}, got {}",
                    output.h, output.w, s.oh, s.ow, x.to_string()));
  }
  return s;
}

}  // namespace

Variable conv2d_transpose(const Variable& x, const Variable& kernel,
                          Size2 output, const WindowOptions& options,
                          int64_t groups) {
  const ConvolutionGeometry s =
      geometry_of(x.shape(), kernel.shape(), output, options, groups);
  const auto& codes =
      code_table_for(x, [](const kernels::CodeTable&) { return true; });
  return linear("conv2d_transpose", x, kernel,
                std::make_unique<Conv2DTransposeKernels>(s, codes));
}

}  // namespace octet
