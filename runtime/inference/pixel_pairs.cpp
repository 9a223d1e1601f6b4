#include "pixel_pairs.h"

#include <algorithm>
#include <utility>

#include "ops/linear.h"

namespace octet::inference {
namespace {

using kernels::CodeWord;

// Repeats the values of [channels].
Tensor repeated(const Tensor& t) {
  if (t.empty()) return t;
  Tensor result({2 * t.size()});
  const auto from = t.f32();
  const auto to = result.f32();
  std::ranges::copy(from, to.begin());
  std::ranges::copy(from, to.begin() + std::ssize(from));
  return result;
}

// Returns panels of one vector for windows that are `apart` words longer: the
// second half of the vector has the weights of the next window.
Tensor paired_panels(const Tensor& panels, const WindowStrides& windows,
                     int64_t apart, int64_t channels) {
  const int64_t rows = std::ssize(windows.segments) * windows.steps;
  const int64_t width = panels.size() / rows;
  const int64_t steps = windows.steps + apart;
  Tensor result =
      Tensor::zeros({std::ssize(windows.segments) * steps * width}, DType::i32);
  const CodeWord* from = panels.data<CodeWord>().data();
  CodeWord* to = result.data<CodeWord>().data();
  for (size_t s = 0; s < windows.segments.size(); ++s, to += steps * width) {
    for (int64_t i = 0; i < windows.steps; ++i, from += width) {
      std::copy_n(from, channels, to + i * width);
      std::copy_n(from, channels, to + (i + apart) * width + channels);
    }
  }
  return result;
}

bool may_pair(const FusedStep& step, const std::vector<Storage>& storages) {
  const int64_t lanes = kernels::table().codes.panel / 2;
  if (lanes < 8 || step.flat || step.upsampling != 1 || step.fused.terms > 1 ||
      step.cols % 2 != 0 || 2 * step.channels != lanes) {
    return false;
  }
  return std::ranges::all_of(step.outputs, [&](int output) {
    return at(storages, output).pixel == step.channels;
  });
}

// Replaces weights and windows of a product in INT8.
bool pair_windows(FusedStep& step) {
  LinearCall& linear = step.linear;
  if (linear.factor != autograd::GemmType::codes ||
      !linear.kernels->splits_channels()) {
    return false;
  }
  const int64_t channels = step.channels, apart = step.windows.pixel;
  std::vector<Tensor>& panels = linear.weight.panels;
  panels = {paired_panels(panels[0], step.windows, apart, channels),
            panels[1].clone()};
  int32_t* const start = panels[1].data<int32_t>().data();
  std::copy_n(start, channels, start + channels);
  step.windows.steps += apart;
  step.pairs = true;
  return true;
}

// Replaces weights and kernels of a depthwise convolution.
bool pair_channels(FusedStep& step, const Storage& x) {
  if (x.pixel != step.channels) return false;
  LinearCall& linear = step.linear;
  const auto pairs = linear.kernels->for_pairs(linear.weight.panels);
  if (pairs == nullptr) return false;
  linear.kernels = pairs;
  return true;
}

}  // namespace

void pair_pixels(FusedStep& step, const std::vector<Storage>& storages) {
  if (!may_pair(step, storages)) return;
  if (!pair_windows(step) && !pair_channels(step, at(storages, step.x))) return;
  step.linear.rescale = repeated(step.linear.rescale);
  step.a = repeated(step.a);
  step.b = repeated(step.b);
  step.windows.pixel *= 2;
  step.cols /= 2;
  step.channels *= 2;
  kernels::FusedEpilogue& f = step.fused;
  if (f.terms == 1) {
    f.a = std::as_const(step.a).f32().data();
    f.b = std::as_const(step.b).f32().data();
  }
  for (int i = 0; i < f.output_count; ++i) f.outputs[i].pixel *= 2;
}

void multiply_pairs(const FusedStep& step, const CodeWord* image,
                    const OutputTile& outputs, const kernels::Epilogue& e) {
  const WindowStrides& windows = step.windows;
  kernels::CodeProduct product;
  product.image = image;
  product.segments = windows.segments.data();
  product.segment_count = std::ssize(windows.segments);
  product.steps = windows.steps;
  product.pixel = windows.pixel;
  product.line = windows.line;
  product.panel_rows = product.segment_count * windows.steps;
  product.rows = outputs.rows;
  product.cols = outputs.cols;
  product.channels = step.channels;
  product.weights = step.linear.weight.panels[0].data<CodeWord>().data();
  product.start = step.linear.weight.panels[1].data<int32_t>().data();
  step.linear.kernels->code_table.multiply(product, e);
}

}  // namespace octet::inference
