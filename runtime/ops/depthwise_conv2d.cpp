#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "convolution_products.h"

namespace octet {
namespace {

using autograd::Border;
using autograd::Engine;
using autograd::Expression;
using autograd::Form;
using autograd::Gradient;
using autograd::GradientSink;
using autograd::Kept;
using autograd::Node;
using autograd::Reader;

// Works on c*m channels throughout: with a multiplier m > 1 the channels of x
// are repeated as they are read, and the gradients of the copies are summed.
struct DepthwiseNode final : Node {
  DepthwiseNode(std::string_view name, const ConvolutionGeometry& g, int64_t m)
      : Node(name, g.output()), geometry(g), multiplier(m) {}

  void backward(Engine& engine) override;
  void release() override {
    input = {};
    weight = {};
  }

  ConvolutionGeometry geometry;
  int64_t multiplier;
  Node* x = nullptr;
  Node* w = nullptr;
  Expression input;  // evaluated again for the weight's gradient
  Kept weight;       // the values that were multiplied
};

// One image of x with its border, channels repeated, in scratch `slot`; the
// slot after it may be used on the way.
const float* read_repeated(const Reader& reader, int64_t image,
                           const Border& border, int64_t multiplier, int slot) {
  const autograd::ImageShape& x = reader.images();
  const int64_t size = (border.top + x.h + border.bottom) *
                       (border.left + x.w + border.right) * x.c;
  float* out = arena::scratch(slot, size * multiplier);
  if (multiplier == 1) {
    reader.read(image, border, out);
    return out;
  }
  float* once = arena::scratch(slot + 1, size);
  reader.read(image, border, once);
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

// The weights of each phase of the input's gradient, [tap][c].
std::vector<Tensor> phase_weights(const ConvolutionGeometry& s,
                                  const Tensor& weight) {
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

// dx of one image from its bordered dz.
void input_gradient(const ConvolutionGeometry& s, const float* dz,
                    const std::vector<Tensor>& weights,
                    const kernels::Epilogue& e) {
  for (size_t i = 0; i < s.phases.size(); ++i) {
    const ConvolutionGeometry::Phase& phase = s.phases[i];
    kernels::Depthwise call;
    call.image = dz;
    call.taps = phase.segments.data();
    call.tap_count = static_cast<int64_t>(phase.segments.size());
    call.pixel = s.c;
    call.line = s.dz_width() * s.c;
    call.weights = weights[i].f32().data();
    call.rows = phase.rows;
    call.cols = phase.cols;
    call.channels = s.c;
    kernels::GradientMask mask;
    kernels::Epilogue part = part_of(e, mask, (phase.h * s.w + phase.w) * s.c);
    part.pixel = s.strides.w * s.c;
    part.line = s.strides.h * s.w * s.c;
    kernels::table().depthwise(call, part);
  }
}

void DepthwiseNode::backward(Engine& engine) {
  const Gradient gradient = Engine::collect(*this);
  if (gradient.value.first.t.empty()) {
    engine.deliver(x, {});
    engine.deliver(w, {});
    return;
  }
  const ConvolutionGeometry& s = geometry;
  // Without a gradient for x, dz needs no border.
  const Border border = x != nullptr ? s.dz_border : Border{};
  const int64_t dz_width = border.left + s.ow + border.right;
  const int64_t dz_size = (border.top + s.oh + border.bottom) * dz_width * s.c;
  const int64_t size = weight.size();
  const int64_t chunks = gradient_chunks(s.n, size);

  const Reader dz_reader(gradient.value, Form::real);
  const Reader x_reader(input, Form::real);
  const int64_t image = s.h * s.w * s.c / multiplier;
  std::vector<Tensor> weights;
  GradientSink sink;
  if (x != nullptr) {
    weights = phase_weights(s, weight.read());
    sink = engine.sink(x, s.n);
  }
  Tensor partial;
  if (w != nullptr) partial = Tensor::zeros({chunks, size});
  float* dw = w != nullptr ? partial.f32().data() : nullptr;

  parallel_for(chunks, [&](int64_t chunk) {
    float* dz = arena::scratch(0, dz_size);
    for (int64_t i = s.n * chunk / chunks; i < s.n * (chunk + 1) / chunks;
         ++i) {
      dz_reader.read(i, border, dz);
      if (dw != nullptr) {
        kernels::DepthwiseGradient g;
        g.image = read_repeated(x_reader, i, s.border, multiplier, 1);
        g.taps = s.segments.data();
        g.tap_count = static_cast<int64_t>(s.segments.size());
        g.pixel = s.strides.w * s.c;
        g.line = s.strides.h * s.padded_width() * s.c;
        g.dz = dz + (border.top * dz_width + border.left) * s.c;
        g.dz_pixel = s.c;
        g.dz_line = dz_width * s.c;
        g.rows = s.oh;
        g.cols = s.ow;
        g.channels = s.c;
        g.out = dw + chunk * size;
        kernels::table().depthwise_gradient(g);
      }
      if (x == nullptr) continue;
      kernels::Epilogue epilogue;
      kernels::GradientMask mask;
      if (multiplier == 1) {
        sink.epilogue(i * image, i, epilogue, mask);
        input_gradient(s, dz, weights, epilogue);
        continue;
      }
      epilogue.out = arena::scratch(1, image * multiplier);
      input_gradient(s, dz, weights, epilogue);
      float* dx = arena::scratch(2, image);
      sum_copies(epilogue.out, image, multiplier, dx);
      sink.write(i * image, i, s.h * s.w, dx);
    }
  });
  if (x != nullptr) engine.close(x, sink);
  if (w == nullptr) return;
  engine.deliver(
      w, autograd::plain_gradient(sum_of_chunks(partial, weight.shape())));
}

// One scale for each of `channels`, equal ones repeated.
Tensor repeated(const Tensor& scale, int64_t channels) {
  if (scale.empty() || scale.size() == channels) return scale;
  Tensor result({channels});
  const int64_t copies = channels / scale.size();
  for (int64_t i = 0; i < channels; ++i) {
    result.f32()[static_cast<size_t>(i)] =
        scale.f32()[static_cast<size_t>(i / copies)];
  }
  return result;
}

}  // namespace

Variable depthwise(std::string_view op, const Variable& x,
                   const Variable& kernel, int64_t multiplier, int axis,
                   const WindowOptions& options) {
  const Shape& k = kernel.shape();
  const int64_t channels = x.shape()[3] * multiplier;
  auto node = std::make_shared<DepthwiseNode>(
      op,
      ConvolutionGeometry(x.shape().with(3, channels),
                          {k[0], k[1], 1, channels}, options,
                          {.op = op, .groups = channels, .merged = false}),
      multiplier);
  const ConvolutionGeometry& s = node->geometry;
  node->depend_on(x.node());
  node->depend_on(kernel.node());

  const Expression input = autograd::expression_of(x);
  const bool codes = on_activation_grid(input) && on_weight_grid(kernel, axis);
  const PlainWeight weight = plain_weight(kernel, codes, axis);
  const Tensor rescale = rescale_of(input, repeated(weight.scale, channels));
  Reader reader(input, codes ? Form::codes : Form::real);

  node->value = Tensor(s.output());
  if (node->needs_grad) node->statistics = Tensor::zeros({s.n, 2, s.k});
  float* z = node->value.f32().data();
  float* statistics =
      node->needs_grad ? node->statistics.f32().data() : nullptr;
  parallel_chunks(s.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      kernels::Depthwise call;
      call.image = read_repeated(reader, i, s.border, multiplier, 0);
      call.taps = s.segments.data();
      call.tap_count = static_cast<int64_t>(s.segments.size());
      call.pixel = s.strides.w * s.c;
      call.line = s.strides.h * s.padded_width() * s.c;
      call.weights = weight.values.f32().data();
      call.rows = s.oh;
      call.cols = s.ow;
      call.channels = s.c;
      kernels::Epilogue epilogue;
      epilogue.out = z + i * s.oh * s.ow * s.k;
      epilogue.pixel = s.k;
      epilogue.line = s.ow * s.k;
      if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
      if (statistics != nullptr) {
        epilogue.statistics = statistics + i * 2 * s.k;
        epilogue.statistics_row = s.k;
      }
      kernels::table().depthwise(call, epilogue);
    }
  });
  reader.commit();
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->w = kernel.requires_grad() ? kernel.node().get() : nullptr;
    if (node->w != nullptr) node->input = input;
    node->weight = weight.real;
  }
  return Variable(std::move(node));
}

Variable depthwise_conv2d(const Variable& x, const Variable& kernel,
                          const WindowOptions& options) {
  const Shape& k = kernel.shape();
  if (x.shape().rank() != 4 || k.rank() != 4 || x.shape()[3] != k[2] ||
      k.size() == 0) {
    throw ShapeError(fmt::format(
        "depthwise_conv2d: expected x [n,h,w,c] and kernel [kh,kw,c,m] with "
        "values, got {} and {}",
        x.shape().to_string(), k.to_string()));
  }
  return depthwise("depthwise_conv2d", x, kernel, k[3], 2, options);
}

}  // namespace octet
