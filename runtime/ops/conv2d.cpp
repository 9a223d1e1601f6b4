#include <algorithm>
#include <iterator>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "convolution_products.h"
#include "linear.h"
#include "sequence.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::Expression;
using autograd::ExpressionEvaluator;
using autograd::OutputKind;

class Conv2DKernels final : public LinearKernels {
 public:
  Conv2DKernels(const ConvolutionGeometry& g, const kernels::CodeTable& codes)
      : LinearKernels(g.output(), g.n, g.oh, -1, codes),
        s(g),
        words(g, codes),
        value_windows(windows_of(g, g.padded_width() * g.c, g.c)),
        code_windows(words.windows_of(g, words.row, words.pixel)) {}

  std::vector<Tensor> pack(const Tensor& weight) const override {
    return {pack_panels(weight, s.groups)};
  }
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    return pack_phases(s, weight);
  }
  std::vector<Tensor> pack_codes(const Tensor& codes,
                                 int zero_byte) const override {
    return pack_code_panels(code_table, codes, zero_byte, s.groups);
  }
  int64_t code_products() const override {
    return words.possible ? s.weight_rows() : 0;
  }
  std::vector<int64_t> layout() const override { return {s.groups}; }

  void forward(const RowRange& band, const ExpressionEvaluator& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    float* padded = arena::scratch(0, rows.padded() * s.padded_width() * s.c);
    x.read({band.block, rows.first, rows.last}, rows.padding, padded);
    multiply(value_windows, padded, all(band), panels, y);
  }

  bool forward_codes(const RowRange& band, const ExpressionEvaluator& x,
                     const std::vector<Tensor>& panels,
                     kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    auto* padded = reinterpret_cast<kernels::CodeWord*>(
        arena::scratch(0, rows.padded() * words.row));
    if (!x.read_codes({band.block, rows.first, rows.last}, rows.padding,
                      code_table, padded)) {
      return false;
    }
    multiply_quantized(code_windows, padded, all(band), panels, y);
    return true;
  }

  bool has_windows() const override { return true; }
  std::optional<Convolution> convolution() const override {
    return Convolution{{s.kh, s.kw}, s.strides, s.dilation, s.groups};
  }
  Pads padding() const override { return s.padding; }
  WindowStrides windows(int64_t row, int64_t pixel, bool codes) const override {
    return codes ? words.windows_of(s, row, pixel) : windows_of(s, row, pixel);
  }
  std::optional<Sampling> sampling() const override {
    return Sampling{s.strides, s.kh == 1 && s.kw == 1};
  }
  bool splits_channels() const override { return s.groups == 1; }
  void multiply(const WindowStrides& at, const float* x,
                const OutputTile& outputs, const std::vector<Tensor>& panels,
                const kernels::Epilogue& y) const override {
    convolve(s, at, x, outputs, panels[0], y);
  }
  void multiply_quantized(const WindowStrides& at, const kernels::CodeWord* x,
                          const OutputTile& outputs,
                          const std::vector<Tensor>& panels,
                          const kernels::Epilogue& y) const override {
    convolve_codes(s, words, at, x, outputs, panels, y);
  }

  // For large weights and small images: splits the rows of the weight, not the
  // images, so that each part of the gradient stays in a cache and has no
  // partial copies.
  Tensor weight_gradient(const Expression& x,
                         const Expression& dy) const override {
    if (!has_large_weights()) return {};
    Tensor images({s.n, s.padded_size()}), gradients({s.n, s.dy_size()});
    Tensor dw = Tensor::zeros({s.weight_rows(), s.k});
    float* const padded = images.f32().data();
    float* const dys = gradients.f32().data();
    float* const to = dw.f32().data();
    const ExpressionEvaluator x_reader(x, OutputKind::real),
        dy_reader(dy, OutputKind::real);
    parallel_for(s.n, [&](int64_t i) {
      x_reader.read(i, s.padding, padded + i * s.padded_size());
      dy_reader.read(i, s.dy_padding, dys + i * s.dy_size());
    });
    constexpr int64_t kRows = 112;
    const int64_t parts = (s.steps + kRows - 1) / kRows;
    parallel_for(std::ssize(s.segments) * parts, [&](int64_t task) {
      const int64_t first = task % parts * kRows;
      const WindowRows rows{task / parts, first,
                            std::min(first + kRows, s.steps)};
      for (int64_t i = 0; i < s.n; ++i) {
        add_weight_gradient(s, rows, padded + i * s.padded_size(),
                            dys + i * s.dy_size() + s.dy_start(), s.dy_width(),
                            to);
      }
    });
    return dw;
  }

  void backward(const BlockGradient& g) const override {
    if (g.dx == nullptr) return add_weight_gradient_by_rows(g);
    float* dy = arena::scratch(0, s.dy_size());
    g.dy.read(g.block, s.dy_padding, dy);
    if (g.dw != nullptr) {
      float* padded = arena::scratch(1, s.padded_size());
      g.x.read(g.block, s.padding, padded);
      add_weight_gradient(s, s.oh, padded, dy + s.dy_start(), s.dy_width(),
                          g.dw);
    }
    convolve_transposed(s, dy, g.panels, *g.dx);
  }

 private:
  // For first layers with large images: processes a few rows at a time.
  void add_weight_gradient_by_rows(const BlockGradient& g) const {
    constexpr int64_t kValues = int64_t{1} << 16;  // at a time
    const int64_t some = std::max<int64_t>(kValues / (s.ow * s.k), 1);
    for (int64_t first = 0; first < s.oh; first += some) {
      const int64_t last = std::min(first + some, s.oh);
      const auto rows = s.input_rows(first, last);
      float* dy = arena::scratch(0, (last - first) * s.ow * s.k);
      float* padded = arena::scratch(1, rows.padded() * s.padded_width() * s.c);
      g.dy.read({g.block, first, last}, {}, dy);
      g.x.read({g.block, rows.first, rows.last}, rows.padding, padded);
      add_weight_gradient(s, last - first, padded, dy, s.ow, g.dw);
    }
  }

  // The images in memory at once take less space than partial sums of the
  // weights would.
  bool has_large_weights() const {
    const int64_t weights = s.weight_rows() * s.k;
    return weights >= kLargeWeights &&
           s.n * (s.padded_size() + s.dy_size()) <= 3 * weights;
  }

  OutputTile all(const RowRange& band) const {
    return {band.last - band.first, s.ow, 0, s.k};
  }

  ConvolutionGeometry s;
  CodeGeometry words;
  WindowStrides value_windows, code_windows;
};

Variable convolution(const ConvolutionKind& kind, const Variable& x,
                     const Variable& kernel, const WindowOptions& options) {
  const ConvolutionGeometry s(x.shape(), kernel.shape(), options, kind);
  if (s.groups > 1 && s.groups == s.c) {
    return depthwise(kind, x, kernel, s.k / s.c, -1, options);
  }
  // Channels of a group may not fill packed words.
  const auto& codes = code_table_for(x, [&](const kernels::CodeTable& table) {
    return CodeGeometry(s, table).possible;
  });
  return linear(kind.op, x, kernel, std::make_unique<Conv2DKernels>(s, codes));
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options, int64_t groups) {
  return convolution({.op = "conv2d", .groups = groups}, x, kernel, options);
}

Variable conv1d(const Variable& x, const Variable& kernel,
                const WindowOptions1D& options, int64_t groups) {
  return convolution({.op = "conv1d", .axes = 1, .groups = groups}, x, kernel,
                     as_image(options));
}

}  // namespace octet
