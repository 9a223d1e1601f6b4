#include <algorithm>
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

void check(const char* op, const Shape& x, const Pads& p) {
  if (x.rank() != 4) {
    throw ShapeError(
        "invalid_shape", op,
        fmt::format("needs images [n,h,w,c], got {}", x.to_string()));
  }
  if (std::min({p.top, p.bottom, p.left, p.right}) < 0) {
    throw ValueError("out_of_range", op,
                     fmt::format("pads must not be negative, got {},{},{},{} "
                                 "(top, bottom, left, right)",
                                 p.top, p.bottom, p.left, p.right));
  }
}

void expect_sums_fit(const char* op, const Pads& p) {
  const int64_t most = std::max({p.top, p.bottom, p.left, p.right});
  if (most > kMaxWindow) {
    throw ValueError(
        "out_of_range", op,
        fmt::format("pads must be at most {}, got {}", kMaxWindow, most));
  }
}

// An image inside a larger image of `width` columns, at row `top` and column
// `left`.
struct Window {
  int64_t width, top, left;

  float* row(float* large, int64_t h, int64_t c) const {
    return large + ((top + h) * width + left) * c;
  }
  const float* row(const float* large, int64_t h, int64_t c) const {
    return large + ((top + h) * width + left) * c;
  }
  void put(float* large, const float* small, const ImageShape& s) const {
    for (int64_t h = 0; h < s.h; ++h) {
      std::memcpy(row(large, h, s.c), small + h * s.w * s.c, bytes(s));
    }
  }
  void take(float* small, const float* large, const ImageShape& s) const {
    for (int64_t h = 0; h < s.h; ++h) {
      std::memcpy(small + h * s.w * s.c, row(large, h, s.c), bytes(s));
    }
  }
  static size_t bytes(const ImageShape& s) {
    return static_cast<size_t>(s.w * s.c) * sizeof(float);
  }
};

// Evaluates deferred expressions and delivers its gradient through a sink, as
// networks often pad outputs of ReLU.
struct PadNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    const Tensor g = Engine::total(*this);
    if (g.empty()) {
      engine.deliver(x, {});
      return;
    }
    const ImageShape in(x->shape);
    const int64_t out_size = ImageShape(shape).size();
    const autograd::GradientSink sink = engine.sink(x, in.n);
    const float* dy = g.f32().data();
    parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        for (int64_t h = 0; h < in.h; ++h) {
          sink.write(i * in.size() + h * in.w * in.c, i, in.w,
                     window.row(dy + i * out_size, h, in.c));
        }
      }
    });
    engine.close(x, sink);
  }

  const QuantParams* value_qparams() const override {
    return qparams.empty() ? nullptr : &qparams;
  }

  Node* x = nullptr;
  Window window{};
  QuantParams qparams;
};

// Copies each image into a padded image.
void pad_images(const autograd::Expression& e, const Pads& p, float value,
                Tensor& y) {
  const ImageShape in(e.shape);
  const Window window{y.shape()[-2], p.top, p.left};
  const int64_t out_size = ImageShape(y.shape()).size();
  float* out = y.f32().data();
  autograd::ExpressionEvaluator reader(e, autograd::OutputKind::real);
  parallel_chunks(in.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      float* to = out + i * out_size;
      if (value == 0) {
        reader.read(i, p, to);
        continue;
      }
      const float* image = reader.image(i, 0);
      std::fill(to, to + out_size, value);
      window.put(to, image, in);
    }
  });
  reader.commit();
}

void crop_images(const Tensor& x, const Window& window, Tensor& y) {
  const ImageShape from(x.shape());
  const ImageShape to(y.shape());
  const float* values = x.f32().data();
  float* out = y.f32().data();
  parallel_chunks(from.n, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      window.take(out + i * to.size(), values + i * from.size(), to);
    }
  });
}

// Sequences are single-row images and stay so.
Variable pad(const char* op, const Variable& x, const Pads& p, float value) {
  expect_sums_fit(op, p);
  const ImageShape in(x.shape());
  Shape shape = x.shape().with(-2, p.left + in.w + p.right);
  if (shape.rank() == 4) shape = shape.with(1, p.top + in.h + p.bottom);
  const autograd::Expression e = autograd::expression_of(x);
  // Zero padding stays quantized if the range includes 0.
  const bool quantized =
      value == 0 && e.qparams.low <= 0 && e.qparams.high >= 0;
  const QuantParams qparams = quantized ? e.qparams : QuantParams{};
  const bool nonnegative = value >= 0 && autograd::nonnegative(e);
  const Variable traced = inference::offer([&] {
    inference::Attributes zeros;
    if (value == 0) zeros = p;
    return inference::TracedOp{
        .op = op,
        .inputs = {x},
        .shape = shape,
        .attributes = zeros,
        .forward =
            [p, value](std::span<const Tensor> inputs, Tensor& y) {
              pad_images(autograd::expression_of(inputs[0], nullptr), p, value,
                         y);
            },
        .qparams = qparams,
        .nonnegative = nonnegative};
  });
  if (traced) return traced;
  auto node = std::make_shared<PadNode>(op, shape);
  node->depend_on(x.node());
  node->value = Tensor(shape);
  node->window = {shape[-2], p.top, p.left};
  if (node->needs_grad) node->x = x.node().get();
  if (nonnegative) node->mark_nonnegative();
  node->qparams = qparams;
  pad_images(e, p, value, node->value);
  return Variable(std::move(node));
}

}  // namespace

Variable pad2d(const Variable& x, const Pads& p, float value) {
  check("pad2d", x.shape(), p);
  return pad("pad2d", x, p, value);
}

Variable pad1d(const Variable& x, const Ends& p, float value) {
  if (x.shape().rank() != 3) {
    throw ShapeError(
        "invalid_shape", "pad1d",
        fmt::format("needs sequences [n,l,c], got {}", x.shape().to_string()));
  }
  if (std::min(p.begin, p.end) < 0) {
    throw ValueError(
        "out_of_range", "pad1d",
        fmt::format("pads must not be negative, got {},{}", p.begin, p.end));
  }
  return pad("pad1d", x, {Ends{}, p}, value);
}

Variable crop2d(const Variable& x, const Pads& p) {
  check("crop2d", x.shape(), p);
  const ImageShape from(x.shape());
  // In this form the sums cannot overflow.
  if (p.top >= from.h || p.bottom >= from.h - p.top || p.left >= from.w ||
      p.right >= from.w - p.left) {
    throw ShapeError(
        "out_of_range", "crop2d",
        fmt::format("must leave at least 1 pixel of {}, got {},{},{},{} (top, "
                    "bottom, left, right)",
                    x.shape().to_string(), p.top, p.bottom, p.left, p.right));
  }
  const Shape shape{from.n, from.h - p.top - p.bottom,
                    from.w - p.left - p.right, from.c};
  const ImageShape to(shape);
  const Window window{from.w, p.top, p.left};
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "crop2d",
        .inputs = {x},
        .shape = shape,
        .forward = [window](std::span<const Tensor> in, Tensor& y) {
          crop_images(in[0], window, y);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  crop_images(x.value(), window, y);
  return record("crop2d", {x}, y, {}, [=, shape = x.shape()](const Tensor& dy) {
    Tensor dx = Tensor::zeros(shape);
    const float* g = dy.f32().data();
    float* all = dx.f32().data();
    parallel_chunks(from.n, [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        window.put(all + i * from.size(), g + i * to.size(), to);
      }
    });
    return std::vector{dx};
  });
}

}  // namespace octet
