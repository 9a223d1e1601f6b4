#include <cstring>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "autograd/node.h"
#include "inference/trace.h"
#include "tensor/arena.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::ImageShape;
using autograd::Node;

size_t bytes_of(int64_t floats) {
  return static_cast<size_t>(floats) * sizeof(float);
}

// Copies `rows` rows of `width` floats between arrays of other row widths.
void copy_rows(float* to, int64_t to_width, const float* from,
               int64_t from_width, int64_t rows, int64_t width) {
  for (int64_t row = 0; row < rows; ++row) {
    std::memcpy(to + row * to_width, from + row * from_width, bytes_of(width));
  }
}

Shape joined(const std::vector<Variable>& inputs, int axis) {
  if (inputs.empty()) {
    throw ValueError("missing_value", "concatenate", "needs at least 1 input");
  }
  Shape shape = inputs[0].shape();
  int64_t total = 0;
  for (const Variable& input : inputs) {
    const Shape& s = input.shape();
    if (s.rank() != shape.rank() || s.with(axis, 0) != shape.with(axis, 0)) {
      throw ShapeError(
          "shape_mismatch", "concatenate",
          fmt::format(
              "inputs must agree in all axes but axis {}, got {} and {}", axis,
              shape.to_string(), s.to_string()));
    }
    total += s[axis];
  }
  return shape.with(axis, total);
}

// Concatenation along channels: evaluates deferred expressions and delivers
// gradients through sinks.
struct ConcatenateNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    int64_t channel = 0;
    for (size_t k = 0; k < parts.size(); ++k) {
      if (parts[k] != nullptr && g.empty()) engine.deliver(parts[k], {});
      if (parts[k] != nullptr && !g.empty()) {
        deliver(engine, parts[k], channel, g);
      }
      channel += widths[k];
    }
  }

  void deliver(Engine& engine, Node* to, int64_t channel,
               const Tensor& g) const {
    const ImageShape in(to->shape);
    const int64_t width = shape[-1];
    const int64_t pixels = in.h * in.w;
    const autograd::GradientSink sink = engine.sink(to, in.n);
    const float* dy = g.f32().data() + channel;
    parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
      float* dx = arena::scratch(0, in.size());
      for (int64_t i = first; i < last; ++i) {
        copy_rows(dx, in.c, dy + i * pixels * width, width, pixels, in.c);
        sink.write(i * in.size(), i, pixels, dx);
      }
    });
    engine.close(to, sink);
  }

  std::vector<Node*> parts;  // null without gradient
  std::vector<int64_t> widths;
};

void join_channels(const std::vector<autograd::Expression>& parts, Tensor& y) {
  std::vector<autograd::ExpressionEvaluator> readers;
  for (const autograd::Expression& part : parts) {
    readers.emplace_back(part, autograd::OutputKind::real);
  }
  float* out = y.f32().data();
  const ImageShape all(y.shape());
  const int64_t pixels = all.h * all.w;
  parallel_chunks(all.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      float* to = out + i * all.size();
      for (const autograd::ExpressionEvaluator& reader : readers) {
        const ImageShape& in = reader.images();
        const float* image = reader.image(i, 0);
        copy_rows(to, all.c, image, in.c, pixels, in.c);
        to += in.c;
      }
    }
  });
  for (autograd::ExpressionEvaluator& reader : readers) reader.commit();
}

void join(std::span<const Tensor> parts, int axis, Tensor& y) {
  const Shape& shape = y.shape();
  const int64_t outer = shape.slice(0, axis).size();
  const int64_t width = shape.slice(axis, shape.rank()).size();
  float* to = y.f32().data();
  for (const Tensor& x : parts) {
    const int64_t part = x.shape().slice(axis, shape.rank()).size();
    copy_rows(to, width, x.f32().data(), part, outer, part);
    to += part;
  }
}

Variable concatenate_channels(const std::vector<Variable>& inputs,
                              const Shape& shape) {
  std::vector<autograd::Expression> parts;
  bool nonnegative = true;
  for (const Variable& x : inputs) {
    parts.push_back(autograd::expression_of(x));
    nonnegative &= autograd::nonnegative(parts.back());
  }
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "concatenate",
        .inputs = inputs,
        .shape = shape,
        .forward = [](std::span<const Tensor> in,
                      Tensor& y) { join(in, y.shape().rank() - 1, y); },
        .nonnegative = nonnegative,
        .across_samples = shape.rank() < 2};
  });
  if (traced) return traced;
  auto node = std::make_shared<ConcatenateNode>("concatenate", shape);
  for (const Variable& x : inputs) {
    node->depend_on(x.node());
    const bool needed = grad_enabled() && x.requires_grad();
    node->parts.push_back(needed ? x.node().get() : nullptr);
    node->widths.push_back(x.shape()[-1]);
  }
  node->value = Tensor(shape);
  if (nonnegative) node->mark_nonnegative();
  join_channels(parts, node->value);
  return Variable(std::move(node));
}

}  // namespace

Variable concatenate(const std::vector<Variable>& inputs, int axis) {
  const Shape shape = joined(inputs, axis);
  const int last = shape.rank() - 1;
  if (axis < 0) axis += shape.rank();
  if (axis == last) return concatenate_channels(inputs, shape);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "concatenate",
        .inputs = inputs,
        .shape = shape,
        .forward = [axis](std::span<const Tensor> in,
                          Tensor& y) { join(in, axis, y); },
        .across_samples = axis == 0};
  });
  if (traced) return traced;
  const int64_t outer = shape.slice(0, axis).size();
  const int64_t width = shape.slice(axis, shape.rank()).size();
  std::vector<Shape> shapes;
  std::vector<Tensor> values;
  for (const Variable& x : inputs) {
    shapes.push_back(x.shape());
    values.push_back(x.value());
  }
  Tensor y(shape);
  join(values, axis, y);
  return record("concatenate", inputs, y, {},
                [shapes, axis, outer, width](const Tensor& dy) {
                  std::vector<Tensor> parts;
                  const float* from = dy.f32().data();
                  for (const Shape& s : shapes) {
                    const int64_t part = s.slice(axis, s.rank()).size();
                    Tensor dx(s);
                    copy_rows(dx.f32().data(), part, from, width, outer, part);
                    parts.push_back(dx);
                    from += part;
                  }
                  return parts;
                });
}

}  // namespace octet
