#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "matrices.h"
#include "weights.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Expression;
using autograd::Form;
using autograd::GradientSink;
using autograd::Node;
using autograd::Reader;

struct DenseNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    if (g.empty()) {
      engine.deliver(x, {});
      engine.deliver(w, {});
      return;
    }
    if (x != nullptr) input_gradient(engine, g);
    if (w != nullptr) weight_gradient(engine, g);
  }

  void input_gradient(Engine& engine, const Tensor& g) {
    const int64_t depth = weight.shape()[0];
    const int64_t units = weight.shape()[1];
    const int64_t rows = g.size() / units;
    const Tensor turned = weight.read().transposed({1, 0});
    const auto& table = kernels::table();
    Tensor panels({table.packed_size(units, depth)});
    const float* block = turned.f32().data();
    table.pack(panels.f32().data(), &block, 1, units, depth);
    const int64_t chunks = row_chunks(rows);
    const GradientSink sink = engine.sink(x, chunks);
    const float* from = g.f32().data();
    parallel_for(chunks, [&](int64_t chunk) {
      const int64_t first = rows * chunk / chunks;
      const int64_t last = rows * (chunk + 1) / chunks;
      kernels::Epilogue epilogue;
      kernels::GradientMask mask;
      sink.epilogue(first * depth, chunk, epilogue, mask);
      multiply_rows(from + first * units, last - first, units,
                    std::as_const(panels).f32().data(), depth, epilogue);
    });
    engine.close(x, sink);
  }

  void weight_gradient(Engine& engine, const Tensor& g) {
    const int64_t depth = weight.shape()[0];
    const int64_t units = weight.shape()[1];
    const Tensor values = input.affine() && !input.first.scaled()
                              ? input.first.t.read()
                              : autograd::evaluate(input);
    Tensor dw = Tensor::zeros(weight.shape());
    float* to = dw.f32().data();
    // Depth is cut, not the rows: every sum stays one chain over the batch.
    const int64_t parts = (depth + 63) / 64;
    parallel_for(parts, [&](int64_t part) {
      multiply_columns(values.f32().data() + part * 64, g.size() / units,
                       std::min<int64_t>(64, depth - part * 64), depth,
                       g.f32().data(), units, to + part * 64 * units);
    });
    engine.deliver(w, autograd::plain_gradient(dw));
  }

  void release() override {
    input = {};
    weight = {};
  }

  Node* x = nullptr;
  Node* w = nullptr;
  Expression input;
  autograd::Kept weight;
};

}  // namespace

Variable dense(const Variable& x, const Variable& kernel) {
  if (x.shape().rank() < 2 || kernel.shape().rank() != 2 ||
      x.shape()[-1] != kernel.shape()[0]) {
    throw ShapeError(fmt::format(
        "dense: expected x [...,c] and kernel [c,units], got {} and {}",
        x.shape().to_string(), kernel.shape().to_string()));
  }
  const int64_t depth = kernel.shape()[0];
  const int64_t units = kernel.shape()[1];
  if (depth < 1 || units < 1) {
    throw ShapeError(fmt::format("dense: expected a kernel with values, got {}",
                                 kernel.shape().to_string()));
  }
  auto node = std::make_shared<DenseNode>("dense", x.shape().with(-1, units));
  node->depend_on(x.node());
  node->depend_on(kernel.node());

  const Expression input = autograd::expression_of(x);
  const bool codes = on_activation_grid(input) && on_weight_grid(kernel);
  const PackedWeight packed = pack_weight(kernel, codes);
  const Tensor rescale = rescale_of(input, packed.scale);
  Reader reader(input, codes ? Form::codes : Form::real);

  node->value = Tensor(node->shape);
  float* out = node->value.f32().data();
  const int64_t image = reader.images().size();
  const int64_t images = reader.images().n;
  const int64_t image_rows = image / depth;
  const int64_t chunks = row_chunks(images);
  parallel_for(chunks, [&](int64_t chunk) {
    const int64_t first = images * chunk / chunks;
    const int64_t last = images * (chunk + 1) / chunks;
    if (first == last) return;
    const float* rows = reader.direct(first);
    if (rows == nullptr) {
      float* scratch = arena::scratch(0, (last - first) * image);
      for (int64_t i = first; i < last; ++i) {
        reader.read(i, {}, scratch + (i - first) * image);
      }
      rows = scratch;
    }
    kernels::Epilogue epilogue;
    epilogue.out = out + first * image_rows * units;
    if (!rescale.empty()) epilogue.rescale = rescale.f32().data();
    multiply_rows(rows, (last - first) * image_rows, depth,
                  packed.panels.f32().data(), units, epilogue);
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
