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

constexpr int kChannelAxis = 2;  // of the kernel

// Everything is named as in the convolution that is transposed: our output is
// its image ([n,h,w,c]), our input its output ([n,oh,ow,k]).
struct Conv2DTransposeNode final : Node {
  explicit Conv2DTransposeNode(const ConvolutionGeometry& g)
      : Node("conv2d_transpose", {g.n, g.h, g.w, g.c}), geometry(g) {}

  void backward(Engine& engine) override;
  void release() override {
    input = {};
    weight = {};
  }

  ConvolutionGeometry geometry;
  Node* x = nullptr;
  Node* w = nullptr;
  Expression input;  // evaluated again for the weight's gradient
  Kept weight;       // the values that were multiplied
};

// The gradient of a linear map's transpose is the map itself.
void Conv2DTransposeNode::backward(Engine& engine) {
  const Gradient gradient = Engine::collect(*this);
  if (gradient.value.first.t.empty()) {
    engine.deliver(x, {});
    engine.deliver(w, {});
    return;
  }
  const ConvolutionGeometry& s = geometry;
  const int64_t size = weight.size();
  const int64_t image = s.oh * s.ow * s.k;
  const int64_t chunks = gradient_chunks(s.n, size);
  const Reader dy_reader(gradient.value, Form::real);
  const Reader x_reader(input, Form::real);
  Tensor panels;
  GradientSink sink;
  if (x != nullptr) {
    panels = pack_weight(Variable(weight.read()), false).panels;
    sink = engine.sink(x, s.n);
  }
  Tensor partial;
  if (w != nullptr) partial = Tensor::zeros({chunks, size});
  float* dw = w != nullptr ? partial.f32().data() : nullptr;

  parallel_for(chunks, [&](int64_t chunk) {
    float* padded = arena::scratch(0, s.padded_size());
    float* scratch = arena::scratch(1, image);
    for (int64_t i = s.n * chunk / chunks; i < s.n * (chunk + 1) / chunks;
         ++i) {
      dy_reader.read(i, s.border, padded);
      if (dw != nullptr) {
        x_reader.read(i, Border{}, scratch);
        add_weight_gradient(s, padded, scratch, s.ow, dw + chunk * size);
      }
      if (x == nullptr) continue;
      kernels::Epilogue epilogue;
      kernels::GradientMask mask;
      sink.epilogue(i * image, i, epilogue, mask);
      convolve(s, padded, panels, epilogue);
    }
  });
  if (x != nullptr) engine.close(x, sink);
  if (w == nullptr) return;
  engine.deliver(
      w, autograd::plain_gradient(sum_of_chunks(partial, weight.shape())));
}

ConvolutionGeometry geometry_of(const Shape& x, const Shape& kernel,
                                Size2 output, const WindowOptions& options) {
  if (x.rank() != 4 || kernel.rank() != 4 || x[3] != kernel[3]) {
    throw ShapeError(
        fmt::format("conv2d_transpose: expected x [n,h,w,c] and kernel "
                    "[kh,kw,k,c], got {} and {}",
                    x.to_string(), kernel.to_string()));
  }
  if (output.h < 1 || output.w < 1 || kernel[2] < 1) {
    throw ValueError(
        fmt::format("conv2d_transpose: expected an output of at least 1x1x1, "
                    "got {}x{}x{}",
                    output.h, output.w, kernel[2]));
  }
  const ConvolutionGeometry s({x[0], output.h, output.w, kernel[2]}, kernel,
                              options, {.op = "conv2d_transpose"});
  if (s.oh != x[1] || s.ow != x[2]) {
    throw ShapeError(fmt::format(
        "conv2d_transpose: expected an input of {}x{}, which is what conv2d "
        "makes of an output of {}x{}, got {}",
        s.oh, s.ow, output.h, output.w, x.to_string()));
  }
  return s;
}

}  // namespace

Variable conv2d_transpose(const Variable& x, const Variable& kernel,
                          Size2 output, const WindowOptions& options) {
  auto node = std::make_shared<Conv2DTransposeNode>(
      geometry_of(x.shape(), kernel.shape(), output, options));
  const ConvolutionGeometry& s = node->geometry;
  node->depend_on(x.node());
  node->depend_on(kernel.node());

  const Expression input = autograd::expression_of(x);
  const bool codes =
      on_activation_grid(input) && on_weight_grid(kernel, kChannelAxis);
  const PlainWeight weight = plain_weight(kernel, codes, kChannelAxis);
  const Tensor rescale = rescale_of(input, weight.scale);
  const std::vector<Tensor> packs = pack_phases(s, weight.values);
  Reader reader(input, codes ? Form::codes : Form::real);

  node->value = Tensor(node->shape);
  if (node->needs_grad) node->statistics = Tensor::zeros({s.n, 2, s.c});
  float* y = node->value.f32().data();
  float* statistics =
      node->needs_grad ? node->statistics.f32().data() : nullptr;
  parallel_chunks(s.n, [&](int64_t first, int64_t last, int64_t) {
    float* bordered = arena::scratch(0, s.dz_size());
    for (int64_t i = first; i < last; ++i) {
      reader.read(i, s.dz_border, bordered);
      kernels::Epilogue epilogue;
      epilogue.out = y + i * s.h * s.w * s.c;
      if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
      if (statistics != nullptr) {
        epilogue.statistics = statistics + i * 2 * s.c;
        epilogue.statistics_row = s.c;
      }
      convolve_transposed(s, bordered, packs, epilogue);
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

}  // namespace octet
