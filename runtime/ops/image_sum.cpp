#include <algorithm>
#include <array>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "autograd/node.h"
#include "inference/trace.h"
#include "reduction_plan.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::ImageShape;
using autograd::Node;

struct ImageSumNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    if (g.empty()) {
      engine.deliver(x, {});
      return;
    }
    const ImageShape in(x->shape);
    if (in.size() == 0) {  // the loop below writes a first pixel
      engine.deliver(x, autograd::plain_gradient(Tensor(x->shape)));
      return;
    }
    const autograd::GradientSink sink = engine.sink(x, in.n);
    const float* dy = g.f32().data();
    const float factor = static_cast<float>(1 / divisor);
    parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
      float* dx = arena::scratch(0, in.size());
      for (int64_t i = first; i < last; ++i) {
        for (int64_t k = 0; k < in.c; ++k) dx[k] = dy[i * in.c + k] * factor;
        for (int64_t pixel = 1; pixel < in.h * in.w; ++pixel) {
          std::copy(dx, dx + in.c, dx + pixel * in.c);
        }
        sink.write(i * in.size(), i, in.h * in.w, dx);
      }
    });
    engine.close(x, sink);
  }

  Node* x = nullptr;
  double divisor = 1;
};

// Divided sums over the pixels of each image.
void sum_images(const autograd::Expression& e, double divisor, Tensor& y) {
  const ImageShape in(e.shape);
  float* out = y.f32().data();
  autograd::ExpressionEvaluator reader(e, autograd::OutputKind::real);
  parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
    std::array<double, kSumColumns> total;
    for (int64_t i = first; i < last; ++i) {
      const float* image = reader.image(i, 0);
      for (int64_t column = 0; column < in.c; column += kSumColumns) {
        const int64_t columns = std::min(kSumColumns, in.c - column);
        sum_rows(total.data(), image + column, in.c, in.h * in.w, columns);
        for (int64_t k = 0; k < columns; ++k) {
          out[i * in.c + column + k] =
              static_cast<float>(total[static_cast<size_t>(k)] / divisor);
        }
      }
    }
  });
  reader.commit();
}

}  // namespace

Variable image_sum(std::string_view op, const Variable& x, const Shape& shape,
                   double divisor) {
  const autograd::Expression e = autograd::expression_of(x);
  const bool nonnegative = divisor > 0 && autograd::nonnegative(e);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = op,
        .inputs = {x},
        .shape = shape,
        .attributes = inference::ImageSum{divisor},
        .forward =
            [divisor](std::span<const Tensor> in, Tensor& y) {
              sum_images(autograd::expression_of(in[0], nullptr), divisor, y);
            },
        .nonnegative = nonnegative};
  });
  if (traced) return traced;
  auto node = std::make_shared<ImageSumNode>(op, shape);
  node->depend_on(x.node());
  node->value = Tensor(shape);
  if (nonnegative) node->mark_nonnegative();
  node->divisor = divisor;
  if (node->needs_grad) node->x = x.node().get();
  sum_images(e, divisor, node->value);
  return Variable(std::move(node));
}

}  // namespace octet
