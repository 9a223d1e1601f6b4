// Transposed convolutions, as a dense product per phase.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "convolution_products.h"

namespace octet {

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
      pack_by_threads({.blocks = blocks.data(),
                       .block_count = count,
                       .rows = k,
                       .channels = c,
                       .row = c,
                       .out = pack.f32().data() + group * size});
    }
    packs.push_back(std::move(pack));
  }
  return packs;
}

std::vector<Tensor> pack_code_phases(const ConvolutionGeometry& s,
                                     const kernels::CodeTable& table,
                                     const Tensor& codes, int zero_byte) {
  // [kh*kw][k][c]
  const Tensor transposed =
      codes.reshaped({s.kh * s.kw, s.c, s.k}).transposed({0, 2, 1});
  std::vector<Tensor> result;
  for (const ConvolutionGeometry::Phase& phase : s.phases) {
    Tensor taps({static_cast<int64_t>(phase.taps.size()), s.k, s.c});
    float* to = taps.f32().data();
    for (const int64_t tap : phase.taps) {
      const Tensor from = transposed.slice(tap, 1);
      to = std::ranges::copy(from.f32(), to).out;
    }
    const std::vector<Tensor> packed = pack_code_panels(table, taps, zero_byte);
    if (packed.empty()) return {};
    result.insert(result.end(), packed.begin(), packed.end());
  }
  return result;
}

namespace {

// The epilogue of a phase: its outputs are `strides` apart.
struct PhaseEpilogue {
  PhaseEpilogue(const ConvolutionGeometry& s,
                const ConvolutionGeometry::Phase& phase,
                const kernels::Epilogue& e, int64_t channel)
      : epilogue(shifted(e, mask, (phase.h * s.w + phase.w) * s.c, channel)) {
    epilogue.pixel = s.strides.w * s.c;
    epilogue.line = s.strides.h * s.w * s.c;
    if (e.fused == nullptr) return;
    fused = *e.fused;
    epilogue.fused = &fused;
    const auto spread = [&](auto* image, kernels::StorageFormat form,
                            int64_t& pixel, int64_t& line) {
      const int64_t offset = phase.h * line + phase.w * pixel;
      pixel *= s.strides.w;
      line *= s.strides.h;
      using Bytes =
          std::conditional_t<std::is_same_v<decltype(image), const void*>,
                             const char*, char*>;
      return static_cast<Bytes>(image) + offset * kernels::bytes_of(form);
    };
    for (int i = 0; i < fused.output_count; ++i) {
      kernels::FusedOutput& o = fused.outputs[i];
      o.to = spread(o.to, o.form, o.pixel, o.line);
    }
    if (fused.other != nullptr) {
      fused.other = spread(fused.other, fused.other_form, fused.other_pixel,
                           fused.other_line);
    }
  }

  kernels::GradientMask mask;
  kernels::FusedEpilogue fused;
  kernels::Epilogue epilogue;
};

// Number of multiples of `stride`, from `first` on, below `count`.
int64_t positions(int64_t count, int64_t first, int64_t stride) {
  return first < count ? (count - first + stride - 1) / stride : 0;
}

// A product of a phase without operands.
template <class P>
P phase_product(const ConvolutionGeometry& s,
                const ConvolutionGeometry::Phase& phase,
                const WindowStrides& windows, const int64_t* segments,
                const OutputTile& outputs) {
  P product;
  product.segments = segments;
  product.segment_count = static_cast<int64_t>(phase.taps.size());
  product.steps = windows.steps;
  product.pixel = windows.pixel;
  product.line = windows.line;
  product.panel_rows = product.segment_count * product.steps;
  product.rows = positions(outputs.rows, phase.h, s.strides.h);
  product.cols = positions(outputs.cols, phase.w, s.strides.w);
  product.channels = s.group_c();
  return product;
}

// Multiplies all groups of a phase of dy.
void multiply_phase(const ConvolutionGeometry& s,
                    const ConvolutionGeometry::Phase& phase,
                    kernels::Product product, const float* dy,
                    const Tensor& pack, const kernels::Epilogue& e) {
  const auto& table = kernels::table();
  const int64_t size = table.packed_size(product.panel_rows, s.group_c());
  for (int64_t group = 0; group < s.groups; ++group) {
    product.image = dy + group * s.group_k();
    product.weights = pack.f32().data() + group * size;
    const PhaseEpilogue own(s, phase, e, group * s.group_c());
    table.multiply(product, own.epilogue);
  }
}

}  // namespace

WindowStrides phase_windows(const ConvolutionGeometry& s, int64_t row,
                            int64_t pixel, int64_t steps) {
  WindowStrides result{{}, steps, pixel, row};
  for (const ConvolutionGeometry::Phase& phase : s.phases) {
    for (const int64_t segment : phase.segments) {
      for (int64_t tap = 0; tap < phase.steps / s.group_k(); ++tap) {
        const int64_t place = segment / s.k + tap;
        result.segments.push_back(place / s.dy_width() * row +
                                  place % s.dy_width() * pixel);
      }
    }
  }
  return result;
}

void convolve_transposed(const ConvolutionGeometry& s, const float* dy,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e) {
  const OutputTile all{s.h, s.w, 0, s.c};
  for (size_t i = 0; i < s.phases.size(); ++i) {
    const ConvolutionGeometry::Phase& phase = s.phases[i];
    const WindowStrides windows{{}, phase.steps, s.k, s.dy_width() * s.k};
    auto product = phase_product<kernels::Product>(s, phase, windows,
                                                   phase.segments.data(), all);
    product.segment_count = static_cast<int64_t>(phase.segments.size());
    product.panel_rows = static_cast<int64_t>(phase.taps.size()) * s.group_k();
    multiply_phase(s, phase, product, dy, packs[i], e);
  }
}

void convolve_transposed(const ConvolutionGeometry& s,
                         const WindowStrides& windows, const float* dy,
                         const OutputTile& outputs,
                         const std::vector<Tensor>& packs,
                         const kernels::Epilogue& e) {
  const int64_t* segments = windows.segments.data();
  for (size_t i = 0; i < s.phases.size(); ++i) {
    const auto product = phase_product<kernels::Product>(
        s, s.phases[i], windows, segments, outputs);
    multiply_phase(s, s.phases[i], product, dy, packs[i], e);
    segments += product.segment_count;
  }
}

void convolve_transposed_codes(const ConvolutionGeometry& s,
                               const kernels::CodeTable& table,
                               const WindowStrides& windows,
                               const kernels::CodeWord* dy,
                               const OutputTile& outputs,
                               const std::vector<Tensor>& packs,
                               const kernels::Epilogue& e) {
  const int64_t* segments = windows.segments.data();
  for (size_t i = 0; i < s.phases.size(); ++i) {
    auto product = phase_product<kernels::CodeProduct>(s, s.phases[i], windows,
                                                       segments, outputs);
    product.image = dy;
    product.weights = packs[2 * i].data<int32_t>().data();
    product.start = packs[2 * i + 1].data<int32_t>().data();
    const PhaseEpilogue own(s, s.phases[i], e, 0);
    table.multiply(product, own.epilogue);
    segments += product.segment_count;
  }
}

}  // namespace octet
