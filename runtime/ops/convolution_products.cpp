#include "convolution_products.h"

#include <algorithm>
#include <utility>

namespace octet {

kernels::Epilogue shifted(const kernels::Epilogue& e, kernels::GradientMask& m,
                          int64_t offset, int64_t channel) {
  kernels::Epilogue result = e;
  result.out += offset + channel;
  if (e.rescale != nullptr) result.rescale += channel;
  if (e.statistics != nullptr) result.statistics += channel;
  if (e.mask == nullptr) return result;
  m = autograd::shifted(*e.mask, offset, channel);
  result.mask = &m;
  return result;
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
    table.pack(panels.f32().data() + group * size, &block, 1, rows, channels);
  }
  return panels;
}

std::vector<Tensor> pack_phases(const ConvolutionGeometry& s,
                                const Tensor& weight) {
  const int64_t c = s.group_c();
  const int64_t k = s.group_k();
  // [group][kh][kw][k][c]
  const Tensor transposed =
      weight.reshaped({s.kh, s.kw, c, s.groups, k}).transposed({3, 0, 1, 4, 2});
  const float* from = transposed.f32().data();
  const auto& table = kernels::table();
  std::vector<Tensor> packs;
  for (const ConvolutionGeometry::Phase& phase : s.phases) {
    const int64_t count = static_cast<int64_t>(phase.taps.size());
    const int64_t size = table.packed_size(count * k, c);
    Tensor pack({std::max<int64_t>(1, s.groups * size)});
    for (int64_t group = 0; group < s.groups; ++group) {
      std::vector<const float*> blocks;
      for (const int64_t tap : phase.taps) {
        blocks.push_back(from + (group * s.kh * s.kw + tap) * k * c);
      }
      table.pack(pack.f32().data() + group * size, blocks.data(), count, k, c);
    }
    packs.push_back(std::move(pack));
  }
  return packs;
}

void convolve(const ConvolutionGeometry& s, const float* padded,
              const Tensor& panels, kernels::Epilogue e) {
  const auto& table = kernels::table();
  kernels::Product product;
  product.segments = s.segments.data();
  product.segment_count = static_cast<int64_t>(s.segments.size());
  product.steps = s.steps;
  product.pixel = s.strides.w * s.c;
  product.line = s.strides.h * s.padded_width() * s.c;
  product.panel_rows = s.weight_rows();
  product.rows = s.oh;
  product.cols = s.ow;
  product.channels = s.group_k();
  e.pixel = s.k;
  e.line = s.ow * s.k;
  const int64_t size = table.packed_size(s.weight_rows(), s.group_k());
  for (int64_t group = 0; group < s.groups; ++group) {
    product.image = padded + group * s.group_c();
    product.weights = panels.f32().data() + group * size;
    kernels::GradientMask mask;
    table.multiply(product, shifted(e, mask, 0, group * s.group_k()));
  }
}

void convolve_transposed(const ConvolutionGeometry& s, const float* dy,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e) {
  const auto& table = kernels::table();
  for (size_t i = 0; i < s.phases.size(); ++i) {
    const ConvolutionGeometry::Phase& phase = s.phases[i];
    const int64_t rows = static_cast<int64_t>(phase.taps.size()) * s.group_k();
    kernels::Product product;
    product.segments = phase.segments.data();
    product.segment_count = static_cast<int64_t>(phase.segments.size());
    product.steps = phase.steps;
    product.pixel = s.k;
    product.line = s.dy_width() * s.k;
    product.panel_rows = rows;
    product.rows = phase.rows;
    product.cols = phase.cols;
    product.channels = s.group_c();
    const int64_t size = table.packed_size(rows, s.group_c());
    for (int64_t group = 0; group < s.groups; ++group) {
      product.image = dy + group * s.group_k();
      product.weights = packs[i].f32().data() + group * size;
      kernels::GradientMask mask;
      kernels::Epilogue of_phase = shifted(
          e, mask, (phase.h * s.w + phase.w) * s.c, group * s.group_c());
      of_phase.pixel = s.strides.w * s.c;
      of_phase.line = s.strides.h * s.w * s.c;
      table.multiply(product, of_phase);
    }
  }
}

void add_weight_gradient(const ConvolutionGeometry& s, const float* padded,
                         const float* dy, int64_t dy_width, float* dw) {
  kernels::WeightGradient g;
  g.segments = s.segments.data();
  g.segment_count = static_cast<int64_t>(s.segments.size());
  g.steps = s.steps;
  g.pixel = s.strides.w * s.c;
  g.line = s.strides.h * s.padded_width() * s.c;
  g.dz_pixel = s.k;
  g.dz_line = dy_width * s.k;
  g.rows = s.oh;
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

}  // namespace octet
