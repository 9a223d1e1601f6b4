#include <algorithm>

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
using autograd::Node;

// Calls `use(offset of the first pixel, pixels of a row, rows)` for each
// window, clipped to the image.
template <class Use>
void for_each_window(const PoolGeometry& p, Use use) {
  for (int64_t oh = 0; oh < p.oh; ++oh) {
    const int64_t h = oh * p.stride_h - p.top;
    const int64_t first_h = std::max<int64_t>(h, 0);
    const int64_t rows = std::min(h + p.kh, p.h) - first_h;
    for (int64_t ow = 0; ow < p.ow; ++ow) {
      const int64_t w = ow * p.stride_w - p.left;
      const int64_t first_w = std::max<int64_t>(w, 0);
      const int64_t cols = std::min(w + p.kw, p.w) - first_w;
      use((first_h * p.w + first_w) * p.c, cols, rows);
    }
  }
}

void pool(float* out, const float* image, const PoolGeometry& p) {
  for_each_window(p, [&](int64_t at, int64_t cols, int64_t rows) {
    std::fill(out, out + p.c, 0.0f);
    for (int64_t row = 0; row < rows; ++row) {
      const float* pixel = image + at + row * p.w * p.c;
      for (int64_t col = 0; col < cols; ++col, pixel += p.c) {
        kernels::table().accumulate(out, pixel, p.c);
      }
    }
    const float count = static_cast<float>(rows * cols);
    for (int64_t k = 0; k < p.c; ++k) out[k] /= count;
    out += p.c;
  });
}

// Adds each gradient, divided by the window's size, to the window's pixels.
void scatter(float* dx, const float* dy, const PoolGeometry& p) {
  float* share = arena::scratch(1, p.c);
  std::fill(dx, dx + p.image_size(), 0.0f);
  for_each_window(p, [&](int64_t at, int64_t cols, int64_t rows) {
    const float count = static_cast<float>(rows * cols);
    for (int64_t k = 0; k < p.c; ++k) share[k] = dy[k] / count;
    dy += p.c;
    for (int64_t row = 0; row < rows; ++row) {
      float* pixel = dx + at + row * p.w * p.c;
      for (int64_t col = 0; col < cols; ++col, pixel += p.c) {
        kernels::table().accumulate(pixel, share, p.c);
      }
    }
  });
}

struct AveragePoolNode final : Node {
  AveragePoolNode(std::string_view name, const Shape& s, const PoolGeometry& g)
      : Node(name, s), geometry(g) {}

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    if (g.empty()) {
      engine.deliver(x, {});
      return;
    }
    const int64_t images = x->shape[0];
    const int64_t size = geometry.image_size();
    const autograd::GradientSink sink = engine.sink(x, images);
    const float* dy = g.f32().data();
    parallel_chunks(images, [&](int64_t first, int64_t last, int64_t) {
      float* dx = arena::scratch(0, size);
      for (int64_t i = first; i < last; ++i) {
        scatter(dx, dy + i * geometry.output_size(), geometry);
        sink.write(i * size, i, geometry.h * geometry.w, dx);
      }
    });
    engine.close(x, sink);
  }

  Node* x = nullptr;
  PoolGeometry geometry;
};

void pool_images_to_means(const autograd::Expression& e,
                          const PoolGeometry& geometry, Tensor& y) {
  float* out = y.f32().data();
  autograd::ExpressionEvaluator reader(e, autograd::OutputKind::real);
  parallel_chunks(e.shape[0], [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const float* image = reader.image(i, 0);
      pool(out + i * geometry.output_size(), image, geometry);
    }
  });
  reader.commit();
}

Variable average_pool(const PoolKind& kind, const Variable& x, Size2 window,
                      const WindowOptions& options) {
  const PoolGeometry geometry(kind, x.shape(), window, options);
  const Shape shape = geometry.output(x.shape()[0]);
  const autograd::Expression e = autograd::expression_of(x);
  const bool nonnegative = autograd::nonnegative(e);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = kind.op,
        .inputs = {x},
        .shape = shape,
        .attributes =
            inference::AveragePool{geometry.kh, geometry.kw, geometry.stride_h,
                                   geometry.stride_w, geometry.top,
                                   geometry.left},
        .forward =
            [geometry](std::span<const Tensor> in, Tensor& y) {
              pool_images_to_means(autograd::expression_of(in[0], nullptr),
                                   geometry, y);
            },
        .nonnegative = nonnegative};
  });
  if (traced) return traced;
  auto node = std::make_shared<AveragePoolNode>(kind.op, shape, geometry);
  node->depend_on(x.node());
  node->value = Tensor(shape);
  if (nonnegative) node->mark_nonnegative();
  if (node->needs_grad) node->x = x.node().get();
  pool_images_to_means(e, geometry, node->value);
  return Variable(std::move(node));
}

}  // namespace

Variable avg_pool2d(const Variable& x, Size2 window,
                    const WindowOptions& options) {
  return average_pool({"avg_pool2d"}, x, window, options);
}

Variable avg_pool1d(const Variable& x, Size1 window,
                    const WindowOptions1D& options) {
  return average_pool({"avg_pool1d", 1}, x, {1, window.length},
                      as_image(options));
}

}  // namespace octet
