#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "autograd/node.h"
#include "inference/trace.h"
#include "pool_geometry.h"
#include "sequence.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::ImageShape;
using autograd::Node;

struct MaxPoolNode final : Node {
  MaxPoolNode(std::string_view name, const Shape& s, const kernels::MaxPool& g)
      : Node(name, s), geometry(g) {}

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    if (g.empty()) {
      engine.deliver(x, {});
      return;
    }
    const ImageShape in(x->shape);
    const int64_t out_size = geometry.oh * geometry.ow * geometry.c;
    const autograd::GradientSink sink = engine.sink(x, in.n);
    const float* dy = g.f32().data();
    const uint8_t* taken = std::as_const(index).data<uint8_t>().data();
    parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        float* dx =
            sink.fused ? arena::scratch(0, in.size()) : sink.to + i * in.size();
        kernels::table().max_pool_gradient({.sizes = geometry,
                                            .dy = dy + i * out_size,
                                            .index = taken + i * out_size,
                                            .dx = dx});
        if (sink.fused) sink.write(i * in.size(), i, in.h * in.w, dx);
      }
    });
    engine.close(x, sink);
  }

  void release() override { index = {}; }

  Node* x = nullptr;
  kernels::MaxPool geometry;
  Tensor index;  // u8, shape of the output
};

void expect_few_cells(std::string_view op, Size2 window) {
  // Checked separately first, as the product could overflow.
  if (window.h > kMaxPoolCells || window.w > kMaxPoolCells ||
      window.h * window.w > kMaxPoolCells) {
    throw UnsupportedError(
        "size_limit", op,
        fmt::format("windows have at most {} pixels, got {}x{}", kMaxPoolCells,
                    window.h, window.w));
  }
}

kernels::MaxPool kernel_of(const PoolGeometry& g) {
  kernels::MaxPool p;
  p.h = g.h;
  p.w = g.w;
  p.c = g.c;
  p.kh = g.kh;
  p.kw = g.kw;
  p.stride_h = g.stride_h;
  p.stride_w = g.stride_w;
  p.dilation_h = g.dilation_h;
  p.dilation_w = g.dilation_w;
  p.top = g.top;
  p.left = g.left;
  p.oh = g.oh;
  p.ow = g.ow;
  return p;
}

// Pools each image. `index` receives the positions of the maxima, unless null.
void pool_images(const kernels::MaxPool& geometry,
                 const autograd::Expression& e, Tensor& y, uint8_t* index) {
  const ImageShape in(e.shape);
  float* out = y.f32().data();
  const int64_t out_size = geometry.oh * geometry.ow * in.c;
  autograd::ExpressionEvaluator reader(e, autograd::OutputKind::real);
  parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      kernels::MaxPool call = geometry;
      call.image = reader.image(i, 0);
      call.out = out + i * out_size;
      if (index != nullptr) call.index = index + i * out_size;
      kernels::table().max_pool(call);
    }
  });
  reader.commit();
}

Variable max_pool(const PoolKind& kind, const Variable& x, Size2 window,
                  const WindowOptions& options) {
  expect_few_cells(kind.op, window);
  const PoolGeometry sizes(kind, x.shape(), window, options);
  const kernels::MaxPool geometry = kernel_of(sizes);
  const Shape shape = sizes.output(ImageShape(x.shape()).n);
  const autograd::Expression e = autograd::expression_of(x);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = kind.op,
        .inputs = {x},
        .shape = shape,
        .attributes = geometry,
        .forward =
            [geometry](std::span<const Tensor> in, Tensor& y) {
              pool_images(geometry, autograd::expression_of(in[0], nullptr), y,
                          nullptr);
            },
        .nonnegative = autograd::nonnegative(e)};
  });
  if (traced) return traced;
  auto node = std::make_shared<MaxPoolNode>(kind.op, shape, geometry);
  node->depend_on(x.node());
  node->value = Tensor(shape);
  if (autograd::nonnegative(e)) node->mark_nonnegative();
  if (node->needs_grad) {
    node->x = x.node().get();
    node->index = Tensor(shape, DType::u8);
  }
  pool_images(geometry, e, node->value,
              node->needs_grad ? node->index.data<uint8_t>().data() : nullptr);
  return Variable(std::move(node));
}

}  // namespace

Variable max_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options) {
  return max_pool({"max_pool2d", 2, true}, x, window, options);
}

Variable max_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options) {
  return max_pool({"max_pool1d", 1, true}, x, {1, window.length},
                  as_image(options));
}

}  // namespace octet
