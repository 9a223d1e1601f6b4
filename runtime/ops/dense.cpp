#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "convolution_products.h"
#include "linear.h"
#include "matrices.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::Expression;
using autograd::ExpressionEvaluator;

// Blocks are runs of rows.
class DenseKernels final : public LinearKernels {
 public:
  DenseKernels(const Shape& x, const Shape& kernel,
               const kernels::CodeTable& codes)
      : LinearKernels(x.with(-1, kernel[1]), row_chunks(x.size() / kernel[0]),
                      1, -1, codes),
        rows(x.size() / kernel[0]),
        depth(kernel[0]),
        units(kernel[1]) {}

  std::vector<Tensor> pack(const Tensor& weight) const override {
    return {pack_panels(weight)};
  }
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    return {pack_panels(weight.transposed({1, 0}))};
  }
  std::vector<Tensor> pack_codes(const Tensor& codes,
                                 int zero_byte) const override {
    return pack_code_panels(code_table, codes, zero_byte);
  }
  int64_t code_products() const override { return depth; }
  std::vector<int64_t> layout() const override { return {1}; }

  void forward(const RowRange& band, const ExpressionEvaluator& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    const int64_t first = first_row(band.block);
    const int64_t last = first_row(band.block + 1);
    multiply_rows({x.pixels(first, last, 0), last - first, depth}, depth,
                  panels[0].f32().data(), units, y);
  }

  bool forward_codes(const RowRange& band, const ExpressionEvaluator& x,
                     const std::vector<Tensor>& panels,
                     kernels::Epilogue y) const override {
    const int64_t first = first_row(band.block);
    const int64_t count = first_row(band.block + 1) - first;
    const int64_t words = code_table.words(depth);
    auto* codes =
        reinterpret_cast<kernels::CodeWord*>(arena::scratch(0, count * words));
    if (!x.pixel_codes(first, first + count, code_table, codes)) return false;
    multiply_quantized({{0}, words, words, 0}, codes, {1, count, 0, units},
                       panels, y);
    return true;
  }

  bool has_windows() const override { return true; }
  std::optional<Convolution> convolution() const override {
    return Convolution{};
  }
  WindowStrides windows(int64_t row, int64_t pixel, bool codes) const override {
    return {{0}, codes ? code_table.words(depth) : depth, pixel, row};
  }
  bool splits_channels() const override { return true; }
  void multiply(const WindowStrides& at, const float* x,
                const OutputTile& outputs, const std::vector<Tensor>& panels,
                const kernels::Epilogue& y) const override {
    auto product = product_of<kernels::Product>(at, outputs);
    product.image = x;
    product.weights = panels[0].f32().data() + outputs.first * depth;
    kernels::table().multiply(product, epilogue(y, outputs));
  }
  void multiply_quantized(const WindowStrides& at, const kernels::CodeWord* x,
                          const OutputTile& outputs,
                          const std::vector<Tensor>& panels,
                          const kernels::Epilogue& y) const override {
    auto product = product_of<kernels::CodeProduct>(at, outputs);
    product.image = x;
    product.weights =
        panels[0].data<int32_t>().data() + outputs.first * at.steps;
    product.start = panels[1].data<int32_t>().data() + outputs.first;
    code_table.multiply(product, epilogue(y, outputs));
  }

  void backward(const BlockGradient& g) const override {
    if (g.dx == nullptr) return;
    const int64_t first = first_row(g.block);
    const int64_t last = first_row(g.block + 1);
    multiply_rows({g.dy.pixels(first, last, 0), last - first, units}, units,
                  g.panels[0].f32().data(), depth, *g.dx);
  }

  // Splits the depth, not the rows: every sum is a single chain over the batch.
  Tensor weight_gradient(const Expression& x,
                         const Expression& dy) const override {
    constexpr int64_t kColumns = 64;
    const Tensor values = value_of(x);
    const Tensor g = value_of(dy);
    Tensor dw = Tensor::zeros({depth, units});
    float* to = dw.f32().data();
    parallel_for((depth + kColumns - 1) / kColumns, [&](int64_t chunk) {
      const int64_t first = chunk * kColumns;
      multiply_columns(values.f32().data() + first, rows,
                       std::min(kColumns, depth - first), depth, g.f32().data(),
                       units, to + first * units);
    });
    return dw;
  }

 private:
  int64_t first_row(int64_t block) const { return rows * block / blocks; }

  kernels::Epilogue epilogue(const kernels::Epilogue& y,
                             const OutputTile& outputs) const {
    kernels::GradientMask none;
    kernels::Epilogue e = shifted(y, none, 0, outputs.first);
    e.pixel = units;
    return e;
  }

  template <class P>
  static P product_of(const WindowStrides& at, const OutputTile& outputs) {
    P product;
    product.segments = at.segments.data();
    product.segment_count = 1;
    product.steps = at.steps;
    product.pixel = at.pixel;
    product.line = at.line;
    product.panel_rows = at.steps;
    product.rows = outputs.rows;
    product.cols = outputs.cols;
    product.channels = outputs.last - outputs.first;
    return product;
  }

  int64_t rows, depth, units;
};

}  // namespace

Variable dense(const Variable& x, const Variable& kernel) {
  if (x.shape().rank() < 2 || kernel.shape().rank() != 2 ||
      x.shape()[-1] != kernel.shape()[0]) {
    throw ShapeError(
        "shape_mismatch", "dense",
        fmt::format("x must be [...,c] and the kernel [c,units], got {} and {}",
                    x.shape().to_string(), kernel.shape().to_string()));
  }
  if (kernel.shape().size() == 0) {
    throw ShapeError(
        "invalid_shape", "dense",
        fmt::format("the kernel is empty: {}", kernel.shape().to_string()));
  }
  return linear("dense", x, kernel,
                std::make_unique<DenseKernels>(
                    x.shape(), kernel.shape(),
                    autograd::code_table_of(autograd::expression_of(x))));
}

}  // namespace octet
