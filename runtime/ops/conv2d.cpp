#include <algorithm>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "convolution_geometry.h"
#include "weights.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Expression;
using autograd::Form;
using autograd::Gradient;
using autograd::GradientSink;
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
  Expression input;  // evaluated again by backward
  Tensor weight;     // the values that were multiplied
};

// Partial weight gradients, one a chunk of images, are added in order. Large
// kernels get fewer chunks, to bound the memory.
int64_t gradient_chunks(int64_t images, int64_t weights) {
  const int64_t most = weights > (int64_t{1} << 18) ? 4 : 16;
  return std::clamp<int64_t>(images, 1, most);
}

// The kernel of each phase of the input's gradient: rows (tap, k), columns c.
std::vector<Tensor> pack_phases(const ConvolutionGeometry& s,
                                const Tensor& weight) {
  const Tensor turned = weight.transposed({0, 1, 3, 2});  // [kh][kw][k][c]
  const float* from = turned.f32().data();
  const auto& table = kernels::table();
  std::vector<Tensor> packs;
  for (const ConvolutionGeometry::Phase& phase : s.phases) {
    std::vector<const float*> blocks;
    for (const int64_t tap : phase.taps) {
      blocks.push_back(from + tap * s.k * s.c);
    }
    const int64_t count = static_cast<int64_t>(blocks.size());
    Tensor pack({std::max<int64_t>(1, table.packed_size(count * s.k, s.c))});
    table.pack(pack.f32().data(), blocks.data(), count, s.k, s.c);
    packs.push_back(std::move(pack));
  }
  return packs;
}

// dx of one image from its bordered dz.
void input_gradient(const ConvolutionGeometry& s, const float* dz,
                    const std::vector<Tensor>& packs, const GradientSink& sink,
                    int64_t image) {
  for (size_t i = 0; i < s.phases.size(); ++i) {
    const ConvolutionGeometry::Phase& phase = s.phases[i];
    kernels::Product product;
    product.image = dz;
    product.segments = phase.segments.data();
    product.segment_count = static_cast<int64_t>(phase.segments.size());
    product.steps = phase.steps;
    product.pixel = s.k;
    product.line = s.dz_width() * s.k;
    product.weights = packs[i].f32().data();
    product.panel_rows = static_cast<int64_t>(phase.taps.size()) * s.k;
    product.rows = phase.rows;
    product.cols = phase.cols;
    product.channels = s.c;
    kernels::Epilogue epilogue;
    kernels::GradientMask mask;
    sink.epilogue(((image * s.h + phase.h) * s.w + phase.w) * s.c, image,
                  epilogue, mask);
    epilogue.pixel = s.strides.w * s.c;
    epilogue.line = s.strides.h * s.w * s.c;
    kernels::table().multiply(product, epilogue);
  }
}

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
    packs = pack_phases(s, weight);
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
        kernels::WeightGradient g;
        g.image = padded;
        g.segments = s.segments.data();
        g.segment_count = static_cast<int64_t>(s.segments.size());
        g.steps = s.steps;
        g.pixel = s.strides.w * s.c;
        g.line = s.strides.h * s.padded_width() * s.c;
        g.dz = dz + (border.top * dz_width + border.left) * s.k;
        g.dz_pixel = s.k;
        g.dz_line = dz_width * s.k;
        g.rows = s.oh;
        g.cols = s.ow;
        g.channels = s.k;
        g.out = dw + chunk * size;
        kernels::table().weight_gradient(g);
      }
      if (x != nullptr) input_gradient(s, dz, packs, sink, i);
    }
  });
  if (x != nullptr) engine.close(x, sink);
  if (w == nullptr) return;

  Tensor total = partial.slice(0, 1).reshaped(weight.shape());
  float* to = total.f32().data();
  parallel_chunks(size, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t chunk = 1; chunk < chunks; ++chunk) {
      kernels::table().accumulate(to + first, dw + chunk * size + first,
                                  last - first);
    }
  });
  engine.deliver(w, autograd::plain_gradient(total));
}

}  // namespace

Variable conv2d(const Variable& x, const Variable& kernel,
                const WindowOptions& options) {
  auto node = std::make_shared<Conv2DNode>(
      ConvolutionGeometry(x.shape(), kernel.shape(), options));
  const ConvolutionGeometry& s = node->geometry;
  node->depend_on(x.node());
  node->depend_on(kernel.node());

  const Expression input = autograd::expression_of(x);
  const bool codes = on_activation_grid(input) && on_weight_grid(kernel);
  const PackedWeight packed = pack_weight(kernel, codes);
  const Tensor rescale = rescale_of(input, packed);
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
      kernels::Product product;
      product.image = padded;
      product.segments = s.segments.data();
      product.segment_count = static_cast<int64_t>(s.segments.size());
      product.steps = s.steps;
      product.pixel = s.strides.w * s.c;
      product.line = s.strides.h * s.padded_width() * s.c;
      product.weights = packed.panels.f32().data();
      product.panel_rows = s.weight_rows();
      product.rows = s.oh;
      product.cols = s.ow;
      product.channels = s.k;
      kernels::Epilogue epilogue;
      epilogue.out = z + i * s.oh * s.ow * s.k;
      epilogue.pixel = s.k;
      epilogue.line = s.ow * s.k;
      if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
      if (statistics != nullptr) epilogue.statistics = statistics + i * 2 * s.k;
      kernels::table().multiply(product, epilogue);
    }
  });
  reader.commit();
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->w = kernel.requires_grad() ? kernel.node().get() : nullptr;
    node->input = input;
    node->weight = packed.real;
  }
  return Variable(std::move(node));
}

}  // namespace octet
