#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "convolution_products.h"
#include "linear.h"
#include "sequence.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::ExpressionEvaluator;

// Reads padded rows of an image of x, with repeated channels, into scratch
// `slot`; uses slot + 1 as workspace.
const float* read_repeated(const ExpressionEvaluator& reader,
                           const ExpressionEvaluator::ImageRows& rows,
                           const Pads& padding, int64_t multiplier, int slot) {
  const autograd::ImageShape& x = reader.images();
  const int64_t size = (padding.top + rows.last - rows.first + padding.bottom) *
                       (padding.left + x.w + padding.right) * x.c;
  float* out = arena::scratch(slot, size * multiplier);
  if (multiplier == 1) {
    reader.read(rows, padding, out);
    return out;
  }
  float* once = arena::scratch(slot + 1, size);
  reader.read(rows, padding, once);
  for (int64_t i = 0; i < size; ++i) {
    std::fill_n(out + i * multiplier, multiplier, once[i]);
  }
  return out;
}

// Sums each run of `multiplier` values.
void sum_copies(const float* from, int64_t size, int64_t multiplier,
                float* to) {
  for (int64_t i = 0; i < size; ++i) {
    float sum = 0;
    for (int64_t m = 0; m < multiplier; ++m) sum += *from++;
    to[i] = sum;
  }
}

// Returns rows of `to_row` values that repeat the first c of rows of `row`.
template <class T>
Tensor repeated_rows(const Tensor& values, int64_t row, int64_t c,
                     int64_t to_row) {
  const int64_t rows = values.size() / row;
  Tensor result = Tensor::zeros({rows, to_row}, values.dtype());
  const T* from = values.data<T>().data();
  T* to = result.data<T>().data();
  for (int64_t i = 0; i < rows; ++i, from += row, to += to_row) {
    std::copy_n(from, c, to);
    std::copy_n(from, c, to + c);
  }
  return result;
}

// Parameters of kernels::CodeDepthwise for a convolution.
struct DepthwiseCodes {
  DepthwiseCodes(const ConvolutionGeometry& s,
                 const kernels::CodeTable& codes) {
    pixel = codes.words(s.c);
    row = pixel * codes.codes_per_word;
    // Two output lines share their inputs.
    lines_packed = s.strides.h == 1 && s.dilation.h == 1 && s.oh > 1 ? 2 : 1;
    groups = codes.words(s.kh + lines_packed - 1);
    possible =
        groups * codes.codes_per_word <= kernels::CodeDepthwise::kMostLines &&
        (kernels::CodeDepthwise::kCols - 1) * s.strides.w +
                (s.kw - 1) * s.dilation.w <
            kernels::CodeDepthwise::kMostColumns;
  }

  bool possible;
  int64_t pixel;         // words per pixel
  int64_t row;           // words per row of packed weights
  int64_t lines_packed;  // output lines that weights are packed for
  int64_t groups;        // word groups of these lines
};

// Uses c*m channels throughout: with a multiplier m > 1, channels of x are
// repeated while reading, and the gradients of the copies are summed.
class DepthwiseKernels final : public LinearKernels {
 public:
  DepthwiseKernels(const ConvolutionGeometry& g, int64_t m, int weight_axis,
                   const kernels::CodeTable& table)
      : LinearKernels(g.output(), g.n, g.oh, weight_axis, table),
        s(g),
        multiplier(m),
        codes(g, table),
        own(windows_of(g, g.padded_width() * g.c, g.c)) {}

  std::shared_ptr<const LinearKernels> for_samples(int64_t n) const override {
    ConvolutionGeometry g = s;
    g.n = n;
    return std::make_shared<DepthwiseKernels>(g, multiplier, axis, code_table);
  }
  // A vector contains neighboring pixels: its channels are adjacent in memory.
  std::shared_ptr<const LinearKernels> for_pairs(
      std::vector<Tensor>& panels) const override {
    if (multiplier != 1 || s.strides.w != 1 || s.ow % 2 != 0) return nullptr;
    ConvolutionGeometry g = s;
    g.c *= 2;
    g.steps *= 2;
    g.strides.w = 2;
    g.ow /= 2;
    auto pairs =
        std::make_shared<DepthwiseKernels>(g, multiplier, axis, code_table);
    if (panels.size() == 1) {
      panels = {repeated_rows<float>(panels[0], s.c, s.c, g.c)};
    } else if (pairs->codes.possible) {
      for (Tensor& panel : panels) {
        panel = repeated_rows<int32_t>(panel, codes.row, s.c, pairs->codes.row);
      }
    } else {
      return nullptr;
    }
    return pairs;
  }
  std::vector<Tensor> pack(const Tensor& weight) const override {
    return {weight};
  }
  // Per phase: [tap][c].
  std::vector<Tensor> pack_transposed(const Tensor& weight) const override {
    const float* from = weight.f32().data();
    std::vector<Tensor> result;
    for (const ConvolutionGeometry::Phase& phase : s.phases) {
      const int64_t count = static_cast<int64_t>(phase.taps.size());
      Tensor taps({std::max<int64_t>(1, count), s.c});
      float* to = taps.f32().data();
      for (const int64_t tap : phase.taps) {
        to = std::copy_n(from + tap * s.c, s.c, to);
      }
      result.push_back(std::move(taps));
    }
    return result;
  }

  int64_t code_products() const override {
    return multiplier == 1 && codes.possible ? s.kh * s.kw : 0;
  }
  std::vector<int64_t> layout() const override { return {codes.lines_packed}; }

  std::vector<Tensor> pack_codes(const Tensor& weight,
                                 int zero_byte) const override {
    const int64_t in_word = code_table.codes_per_word;
    const int64_t size = codes.lines_packed * s.kw * codes.row;
    Tensor words({codes.groups * size}, DType::i32);
    Tensor start({codes.row}, DType::i32);
    const auto to = words.data<kernels::CodeWord>();
    const auto sums = start.data<int32_t>();
    std::ranges::fill(to, 0);
    std::ranges::fill(sums, 0);
    const float* from = weight.f32().data();
    const int bits = static_cast<int>(32 / in_word);
    const uint32_t mask = in_word == 4 ? 0xff : 0xffff;
    for (int64_t tap = 0; tap < s.kh * s.kw; ++tap, from += s.c) {
      const auto is_nan = [](float v) { return std::isnan(v); };
      if (std::any_of(from, from + s.c, is_nan)) return {};
      for (int64_t c = 0; in_word == 4 && c < s.c; ++c) {
        sums[static_cast<size_t>(c)] -=
            zero_byte * static_cast<int32_t>(from[c]);
      }
      for (int64_t line = 0; line < codes.lines_packed; ++line) {
        const int64_t read = tap / s.kw + line;
        const int64_t shift = read % in_word * bits;
        const auto at = static_cast<size_t>(
            read / in_word * size + (line * s.kw + tap % s.kw) * codes.row);
        for (int64_t c = 0; c < s.c; ++c) {
          const auto code = static_cast<int32_t>(from[c]);
          auto& word = to[at + static_cast<size_t>(c)];
          word |= static_cast<int32_t>((static_cast<uint32_t>(code) & mask)
                                       << shift);
        }
      }
    }
    return {words, start};
  }

  bool forward_codes(const RowRange& band, const ExpressionEvaluator& x,
                     const std::vector<Tensor>& panels,
                     kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    const int64_t row = s.padded_width() * codes.pixel;
    auto* padded = reinterpret_cast<kernels::CodeWord*>(
        arena::scratch(0, rows.padded() * row));
    if (!x.read_codes({band.block, rows.first, rows.last}, rows.padding,
                      code_table, padded)) {
      return false;
    }
    multiply_quantized(windows(row, codes.pixel, true), padded,
                       {band.last - band.first, s.ow, 0, s.c}, panels, y);
    return true;
  }

  void forward(const RowRange& band, const ExpressionEvaluator& x,
               const std::vector<Tensor>& panels,
               kernels::Epilogue y) const override {
    const auto rows = s.input_rows(band.first, band.last);
    multiply(own,
             read_repeated(x, {band.block, rows.first, rows.last}, rows.padding,
                           multiplier, 0),
             {band.last - band.first, s.ow, 0, s.c}, panels, y);
  }

  // Repeated channels exist only in scratch memory.
  bool has_windows() const override { return multiplier == 1; }
  std::optional<Convolution> convolution() const override {
    return Convolution{{s.kh, s.kw}, s.strides, s.dilation, s.c / multiplier};
  }
  Pads padding() const override { return s.padding; }
  WindowStrides windows(int64_t row, int64_t pixel,
                        bool /*codes*/) const override {
    return windows_of(s, row, pixel);
  }
  void multiply(const WindowStrides& at, const float* x,
                const OutputTile& outputs, const std::vector<Tensor>& panels,
                const kernels::Epilogue& y) const override {
    kernels::Epilogue e = y;
    e.pixel = s.c;
    e.line = s.ow * s.c;
    kernels::table().depthwise(
        {.image = x,
         .taps = at.segments.data(),
         .tap_count = static_cast<int64_t>(at.segments.size()),
         .pixel = at.pixel,
         .line = at.line,
         .weights = panels[0].f32().data(),
         .rows = outputs.rows,
         .cols = outputs.cols,
         .channels = s.c},
        e);
  }

  void multiply_quantized(const WindowStrides& at, const kernels::CodeWord* x,
                          const OutputTile& outputs,
                          const std::vector<Tensor>& panels,
                          const kernels::Epilogue& y) const override {
    const kernels::CodeTable& table = code_table;
    kernels::Epilogue e = y;
    e.pixel = s.c;
    e.line = s.ow * s.c;
    table.depthwise({.image = x,
                     .lines = (outputs.rows - 1) * s.strides.h +
                              (s.kh - 1) * s.dilation.h + 1,
                     .pixel = at.pixel / s.strides.w * table.codes_per_word,
                     .line = at.line / s.strides.h * table.codes_per_word,
                     .stride_h = s.strides.h,
                     .stride_w = s.strides.w,
                     .dilation_h = s.dilation.h,
                     .dilation_w = s.dilation.w,
                     .kw = s.kw,
                     .weights = panels[0].data<kernels::CodeWord>().data(),
                     .lines_packed = codes.lines_packed,
                     .weight_row = codes.row,
                     .groups = {table.words(s.kh), codes.groups},
                     .start = panels[1].data<int32_t>().data(),
                     .rows = outputs.rows,
                     .cols = outputs.cols,
                     .channels = s.c},
                    e);
  }

  void backward(const BlockGradient& g) const override {
    float* dy = arena::scratch(0, s.dy_size());
    g.dy.read(g.block, s.dy_padding, dy);
    if (g.dw != nullptr) {
      kernels::table().depthwise_gradient(
          {.image = read_repeated(g.x, {g.block, 0, g.x.images().h}, s.padding,
                                  multiplier, 1),
           .taps = s.segments.data(),
           .tap_count = static_cast<int64_t>(s.segments.size()),
           .pixel = s.strides.w * s.c,
           .line = s.strides.h * s.padded_width() * s.c,
           .dz = dy + s.dy_start(),
           .dz_pixel = s.c,
           .dz_line = s.dy_width() * s.c,
           .rows = s.oh,
           .cols = s.ow,
           .channels = s.c,
           .out = g.dw});
    }
    if (g.dx == nullptr) return;
    if (multiplier == 1) {
      input_gradient(dy, g.panels, *g.dx);
      return;
    }
    const int64_t channels = s.c / multiplier;
    const int64_t image = s.h * s.w * channels;
    kernels::Epilogue copies;
    copies.out = arena::scratch(1, image * multiplier);
    input_gradient(dy, g.panels, copies);
    float* dx = arena::scratch(2, image);
    sum_copies(copies.out, image, multiplier, dx);
    autograd::finish(*g.dx, dx, s.h * s.w, channels);
  }

 private:
  // dx of an image from its padded dy.
  void input_gradient(const float* dy, const std::vector<Tensor>& weights,
                      const kernels::Epilogue& e) const {
    for (size_t i = 0; i < s.phases.size(); ++i) {
      const ConvolutionGeometry::Phase& phase = s.phases[i];
      kernels::GradientMask mask;
      kernels::Epilogue of_phase =
          shifted(e, mask, (phase.h * s.w + phase.w) * s.c);
      of_phase.pixel = s.strides.w * s.c;
      of_phase.line = s.strides.h * s.w * s.c;
      kernels::table().depthwise(
          {.image = dy,
           .taps = phase.segments.data(),
           .tap_count = static_cast<int64_t>(phase.segments.size()),
           .pixel = s.c,
           .line = s.dy_width() * s.c,
           .weights = weights[i].f32().data(),
           .rows = phase.rows,
           .cols = phase.cols,
           .channels = s.c},
          of_phase);
    }
  }

  ConvolutionGeometry s;
  int64_t multiplier;
  DepthwiseCodes codes;
  WindowStrides own;
};

Variable checked_depthwise(const ConvolutionKind& kind, const Variable& x,
                           const Variable& kernel,
                           const WindowOptions& options) {
  const Shape& k = kernel.shape();
  const int rank = kind.axes + 2;
  if (x.shape().rank() != rank || k.rank() != rank || x.shape()[-1] != k[-2] ||
      k.size() == 0) {
    throw ShapeError("shape_mismatch", kind.op,
                     fmt::format("x must be [n,{},c] and the kernel [{},c,m], "
                                 "not empty, got {} and {}",
                                 kind.input_axes(), kind.kernel_axes(),
                                 x.shape().to_string(), k.to_string()));
  }
  return depthwise(kind, x, kernel, k[-1], -2, options);
}

}  // namespace

Variable depthwise(const ConvolutionKind& kind, const Variable& x,
                   const Variable& kernel, int64_t multiplier, int axis,
                   const WindowOptions& options) {
  const int64_t channels = x.shape()[-1] * multiplier;
  const ConvolutionGeometry s(
      x.shape().with(-1, channels),
      kernel.shape().with(-2, 1).with(-1, channels), options,
      {.op = kind.op, .axes = kind.axes, .groups = channels, .merged = false});
  // Kernels with many rows may not fit the words of 7-bit kernels.
  const auto& codes = code_table_for(x, [&](const kernels::CodeTable& table) {
    return DepthwiseCodes(s, table).possible;
  });
  return linear(kind.op, x, kernel,
                std::make_unique<DepthwiseKernels>(s, multiplier, axis, codes));
}

Variable depthwise_conv2d(const Variable& x, const Variable& kernel,
                          const WindowOptions& options) {
  return checked_depthwise({.op = "depthwise_conv2d"}, x, kernel, options);
}

Variable depthwise_conv1d(const Variable& x, const Variable& kernel,
                          const WindowOptions1D& options) {
  return checked_depthwise({.op = "depthwise_conv1d", .axes = 1}, x, kernel,
                           as_image(options));
}

}  // namespace octet
