#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "convolution_products.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Expression;
using autograd::Form;
using autograd::Gradient;
using autograd::GradientSink;
using autograd::Kept;
using autograd::Node;
using autograd::Reader;

struct Conv2DNode final : Node {
  explicit Conv2DNode(const ConvolutionGeometry& g)
      : Node("conv2d", g.output()), geometry(g) {}

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

void Conv2DNode::backward(Engine& engine) {
  const Gradient gradient = Engine::collect(*this);
  if (gradient.value.first.t.empty()) {
    engine.deliver(x, {});
    engine.deliver(w, {});
    return;
  }
  const ConvolutionGeometry& s = geometry;
  // Without a gradient for x, dz needs no border.
  const autograd::Border border =
      x != nullptr ? s.dz_border : autograd::Border{};
  const int64_t dz_width = border.left + s.ow + border.right;
  const int64_t dz_size = (border.top + s.oh + border.bottom) * dz_width * s.k;
  const int64_t size = weight.size();
  const int64_t chunks = gradient_chunks(s.n, size);

  const Reader dz_reader(gradient.value, Form::real);
  const Reader x_reader(input, Form::real);
  std::vector<Tensor> packs;
  GradientSink sink;
  if (x != nullptr) {
    packs = pack_phases(s, weight.read());
    sink = engine.sink(x, s.n);
  }
  Tensor partial;
  if (w != nullptr) partial = Tensor::zeros({chunks, size});
  float* dw = w != nullptr ? partial.f32().data() : nullptr;

  parallel_for(chunks, [&](int64_t chunk) {
    float* dz = arena::scratch(0, dz_size);
    float* padded = arena::scratch(1, s.padded_size());
    for (int64_t i = s.n * chunk / chunks; i < s.n * (chunk + 1) / chunks;
         ++i) {
      dz_reader.read(i, border, dz);
      if (dw != nullptr) {
        x_reader.read(i, s.border, padded);
        add_weight_gradient(s, padded,
                            dz + (border.top * dz_width + border.left) * s.k,
                            dz_width, dw + chunk * size);
      }
      if (x == nullptr) continue;
      kernels::Epilogue epilogue;
      kernels::GradientMask mask;
      sink.epilogue(i * s.h * s.w * s.c, i, epilogue, mask);
      convolve_transposed(s, dz, packs, epilogue);
    }
  });
  if (x != nullptr) engine.close(x, sink);
  if (w == nullptr) return;
  engine.deliver(
      w, autograd::plain_gradient(sum_of_chunks(partial, weight.shape())));
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options, int64_t groups) {
  auto node = std::make_shared<Conv2DNode>(ConvolutionGeometry(
      x.shape(), kernel.shape(), options, {.groups = groups}));
  const ConvolutionGeometry& s = node->geometry;
  if (groups > 1 && groups == s.c) {
    return depthwise("conv2d", x, kernel, s.k / s.c, 3, options);
  }
  node->depend_on(x.node());
  node->depend_on(kernel.node());

  const Expression input = autograd::expression_of(x);
  const bool codes = on_activation_grid(input) && on_weight_grid(kernel);
  const PackedWeight packed = pack_weight(kernel, codes, groups);
  const Tensor rescale = rescale_of(input, packed.scale);
  Reader reader(input, codes ? Form::codes : Form::real);

  node->value = Tensor(s.output());
  if (node->needs_grad) node->statistics = Tensor::zeros({s.n, 2, s.k});
  float* z = node->value.f32().data();
  float* statistics =
      node->needs_grad ? node->statistics.f32().data() : nullptr;
  parallel_chunks(s.n, [&](int64_t first, int64_t last, int64_t) {
    float* padded = arena::scratch(0, s.padded_size());
    for (int64_t i = first; i < last; ++i) {
      reader.read(i, s.border, padded);
      kernels::Epilogue epilogue;
      epilogue.out = z + i * s.oh * s.ow * s.k;
      if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
      if (statistics != nullptr) {
        epilogue.statistics = statistics + i * 2 * s.k;
        epilogue.statistics_row = s.k;
      }
      convolve(s, padded, packed.panels, epilogue);
    }
  });
  reader.commit();
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->w = kernel.requires_grad() ? kernel.node().get() : nullptr;
    if (node->w != nullptr) node->input = input;
    node->weight = packed.real;
  }
  return Variable(std::move(node));
}

}  // namespace octet
