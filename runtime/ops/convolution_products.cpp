#include "convolution_products.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include <octet/runtime/parallel.h>

namespace octet {

kernels::Epilogue shifted(const kernels::Epilogue& e, kernels::GradientMask& m,
                          int64_t offset, int64_t channel) {
  kernels::Epilogue result = e;
  if (e.rescale != nullptr) result.rescale += channel;
  if (e.fused != nullptr) {
    result.channel += channel;
    return result;
  }
  result.out += offset + channel;
  if (e.statistics != nullptr) result.statistics += channel;
  if (e.mask == nullptr) return result;
  m = autograd::shifted(*e.mask, offset, channel);
  result.mask = &m;
  return result;
}

// The position of a panel depends only on the channels before it.
void pack_by_threads(const kernels::WeightPanels& all) {
  const auto& table = kernels::table();
  const int64_t width = table.codes.panel;
  const int64_t rows = all.block_count * all.rows;
  const SerialGuard alone(rows * all.channels < kFewValues);
  parallel_for((all.channels + width - 1) / width, [&](int64_t i) {
    const int64_t first = i * width;
    std::vector<const float*> blocks(all.blocks, all.blocks + all.block_count);
    for (const float*& block : blocks) block += first;
    kernels::WeightPanels part = all;
    part.blocks = blocks.data();
    part.channels = std::min(width, all.channels - first);
    part.out = all.out + first * rows;
    table.pack(part);
  });
}

Tensor pack_panels(const Tensor& weight, int64_t groups) {
  const int64_t channels = weight.shape()[-1] / groups;
  const int64_t rows = weight.size() / weight.shape()[-1];
  const auto& table = kernels::table();
  const int64_t size = table.packed_size(rows, channels);
  Tensor panels({groups * size});
  Tensor grouped = weight;
  if (groups > 1) {
    grouped = weight.reshaped({rows, groups, channels}).transposed({1, 0, 2});
  }
  for (int64_t group = 0; group < groups; ++group) {
    const float* block =
        std::as_const(grouped).f32().data() + group * rows * channels;
    pack_by_threads({.blocks = &block,
                     .block_count = 1,
                     .rows = rows,
                     .channels = channels,
                     .row = channels,
                     .out = panels.f32().data() + group * size});
  }
  return panels;
}

namespace {

// Returns the strides for an image whose pixels have `c` elements, `group_c` of
// each group.
WindowStrides window_strides(const ConvolutionGeometry& s, int64_t row,
                             int64_t pixel, int64_t c, int64_t group_c) {
  WindowStrides result{{},
                       s.steps / s.group_c() * group_c,
                       s.strides.w * pixel,
                       s.strides.h * row};
  // Pixels of a window's row form a run only if they are adjacent in memory.
  const bool runs = pixel == c || result.steps == group_c;
  if (!runs) result.steps = group_c;
  const int64_t taps = result.steps / group_c;
  for (int64_t i = 0; i < s.kh; ++i) {
    for (int64_t j = 0; j < s.kw; j += taps) {
      result.segments.push_back(i * s.dilation.h * row +
                                j * s.dilation.w * pixel);
    }
  }
  return result;
}

}  // namespace

WindowStrides windows_of(const ConvolutionGeometry& s, int64_t row,
                         int64_t pixel) {
  return window_strides(s, row, pixel, s.c, s.group_c());
}

CodeGeometry::CodeGeometry(const ConvolutionGeometry& s,
                           const kernels::CodeTable& codes)
    : table(codes) {
  possible = s.groups == 1 || s.group_c() % codes.codes_per_word == 0;
  pixel = codes.words(s.c);
  row = s.padded_width() * pixel;
  panel_rows = s.kh * s.kw * codes.words(s.group_c());
}

WindowStrides CodeGeometry::windows_of(const ConvolutionGeometry& s,
                                       int64_t words_a_row,
                                       int64_t words_a_pixel) const {
  return window_strides(s, words_a_row, words_a_pixel, pixel,
                        table.words(s.group_c()));
}

std::vector<Tensor> pack_code_panels(const kernels::CodeTable& table,
                                     const Tensor& codes, int zero_byte,
                                     int64_t groups) {
  const auto packed_size = kernels::table().packed_size;
  const int rank = codes.shape().rank();
  const int64_t channels = codes.shape()[-1] / groups;
  const int64_t c = codes.shape()[-2];
  const int64_t taps = codes.shape().slice(0, rank - 2).size();
  const int64_t rows = taps * table.words(c);
  const int64_t size = packed_size(rows, channels);
  const int64_t starts = packed_size(1, channels);
  Tensor panels({groups, size}, DType::i32);
  Tensor start({groups, starts}, DType::i32);
  Tensor grouped = codes;
  if (groups > 1) {
    grouped =
        codes.reshaped({taps * c, groups, channels}).transposed({1, 0, 2});
  }
  const float* from = std::as_const(grouped).f32().data();
  int32_t* to = panels.data<int32_t>().data();
  int32_t* sums = start.data<int32_t>().data();
  const int64_t width = table.panel;
  const int64_t count = (channels + width - 1) / width;
  std::atomic<bool> packed = true;
  const SerialGuard alone(codes.size() < kFewValues);
  parallel_for(groups * count, [&](int64_t i) {
    const int64_t group = i / count;
    const int64_t first = i % count * width;
    const bool done =
        table.pack({.codes = from + group * taps * c * channels + first,
                    .taps = taps,
                    .c = c,
                    .channels = std::min(width, channels - first),
                    .row = channels,
                    .zero_byte = zero_byte,
                    .out = to + group * size + first * rows,
                    .start = sums + group * starts + first});
    if (!done) packed = false;
  });
  if (!packed) return {};
  return {panels, start};
}

namespace {

template <class P>
P product_of(const ConvolutionGeometry& s, const WindowStrides& windows,
             const OutputTile& outputs, int64_t panel_rows) {
  P product;
  product.segments = windows.segments.data();
  product.segment_count = static_cast<int64_t>(windows.segments.size());
  product.steps = windows.steps;
  product.pixel = windows.pixel;
  product.line = windows.line;
  product.panel_rows = panel_rows;
  product.rows = outputs.rows;
  product.cols = outputs.cols;
  product.channels = s.groups == 1 ? outputs.last - outputs.first : s.group_k();
  return product;
}

}  // namespace

void convolve(const ConvolutionGeometry& s, const WindowStrides& windows,
              const float* image, const OutputTile& outputs,
              const Tensor& panels, kernels::Epilogue e) {
  const auto& table = kernels::table();
  auto product =
      product_of<kernels::Product>(s, windows, outputs, s.weight_rows());
  e.pixel = s.k;
  e.line = s.ow * s.k;
  const int64_t size = table.packed_size(s.weight_rows(), s.group_k());
  for (int64_t group = 0; group < s.groups; ++group) {
    const int64_t first = group * s.group_k() + outputs.first;
    product.image = image + group * s.group_c();
    product.weights =
        panels.f32().data() + group * size + outputs.first * s.weight_rows();
    kernels::GradientMask mask;
    table.multiply(product, shifted(e, mask, 0, first));
  }
}

void convolve_codes(const ConvolutionGeometry& s, const CodeGeometry& words,
                    const WindowStrides& windows,
                    const kernels::CodeWord* image, const OutputTile& outputs,
                    const std::vector<Tensor>& panels, kernels::Epilogue e) {
  auto product =
      product_of<kernels::CodeProduct>(s, windows, outputs, words.panel_rows);
  e.pixel = s.k;
  e.line = s.ow * s.k;
  const int64_t size = panels[0].shape()[1];
  const int64_t starts = panels[1].shape()[1];
  for (int64_t group = 0; group < s.groups; ++group) {
    const int64_t first = group * s.group_k() + outputs.first;
    product.image = image + group * words.pixel / s.groups;
    product.weights = panels[0].data<int32_t>().data() + group * size +
                      outputs.first * words.panel_rows;
    product.start =
        panels[1].data<int32_t>().data() + group * starts + outputs.first;
    kernels::GradientMask none;
    words.table.multiply(product, shifted(e, none, 0, first));
  }
}

namespace {

void add_gradients(const ConvolutionGeometry& s, kernels::WeightGradient g,
                   int64_t rows, const float* padded, const float* dy,
                   int64_t dy_width, float* dw) {
  g.pixel = s.strides.w * s.c;
  g.line = s.strides.h * s.padded_width() * s.c;
  g.dz_pixel = s.k;
  g.dz_line = dy_width * s.k;
  g.rows = rows;
  g.cols = s.ow;
  g.channels = s.group_k();
  g.out_row = s.k;
  for (int64_t group = 0; group < s.groups; ++group) {
    g.image = padded + group * s.group_c();
    g.dz = dy + group * s.group_k();
    g.out = dw + group * s.group_k();
    kernels::table().weight_gradient(g);
  }
}

}  // namespace

void add_weight_gradient(const ConvolutionGeometry& s, int64_t rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw) {
  add_gradients(s,
                {.segments = s.segments.data(),
                 .segment_count = static_cast<int64_t>(s.segments.size()),
                 .steps = s.steps},
                rows, padded, dy, dy_width, dw);
}

void add_weight_gradient(const ConvolutionGeometry& s, const WindowRows& rows,
                         const float* padded, const float* dy, int64_t dy_width,
                         float* dw) {
  add_gradients(s,
                {.segments = s.segments.data() + rows.segment,
                 .segment_count = 1,
                 .steps = rows.last - rows.first},
                s.oh, padded + rows.first, dy, dy_width,
                dw + (rows.segment * s.steps + rows.first) * s.k);
}

}  // namespace octet
