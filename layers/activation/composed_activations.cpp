// Source of the formulas: keras/src/activations/activations.py and
// keras/src/backend/jax/nn.py of Keras 3, with default arguments.
#include "activation/composed_activations.h"

#include <octet/runtime/ops.h>

namespace octet {
namespace {

OnnxValue renamed(const OnnxValue& x, std::string name) {
  OnnxValue y = x;
  y.name = std::move(name);
  return y;
}

OnnxValue emit_celu(EmitContext& context, const OnnxValue& x) {
  return renamed(x, context.node("Elu", {x.name}, {{"alpha", 1.0f}}));
}

// Approximates gelu: x / 2 (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))).
// Source: Hendrycks and Gimpel 2016, arXiv 1606.08415.
constexpr float kInner = 0.797884561f;
constexpr float kCubic = 0.044715f;
Variable gelu_tanh(const Variable& x) {
  const Variable inner = kInner * (x + kCubic * (x * square(x)));
  return (0.5f * x) * (1 + octet::tanh(inner));
}
OnnxValue emit_gelu_tanh(EmitContext& context, const OnnxValue& x) {
  const auto mul = [&](const std::string& a, const std::string& b) {
    return context.node("Mul", {a, b});
  };
  const auto number = [&](const char* name, float value) {
    return context.scalar(name, value);
  };
  const std::string cube = mul(x.name, mul(x.name, x.name));
  const std::string sum =
      context.node("Add", {x.name, mul(cube, number("cubic", kCubic))});
  const std::string tanh =
      context.node("Tanh", {mul(sum, number("inner", kInner))});
  const std::string gate = context.node("Add", {tanh, number("one", 1)});
  return renamed(x, mul(mul(x.name, number("half", 0.5f)), gate));
}

// x for |x| > 0.5, else 0.
Variable hard_shrink(const Variable& x) {
  const ReluOptions above{.threshold = 0.5f};
  return relu(x, above) - relu(-x, above);
}
// Not exported as Shrink, which older TensorRT lacks.
OnnxValue emit_hard_shrink(EmitContext& context, const OnnxValue& x) {
  const std::string above = context.node(
      "Greater",
      {context.node("Abs", {x.name}), context.scalar("threshold", 0.5f)});
  return renamed(
      x, context.node("Where", {above, x.name, context.scalar("zero", 0)}));
}

Variable hard_tanh(const Variable& x) {
  return minimum(maximum(x, Tensor::scalar(-1)), Tensor::scalar(1));
}
OnnxValue emit_hard_tanh(EmitContext& context, const OnnxValue& x) {
  return renamed(x, context.node("Clip", {x.name, context.scalar("least", -1),
                                          context.scalar("most", 1)}));
}

OnnxValue emit_log_sigmoid(EmitContext& context, const OnnxValue& x) {
  const std::string negated = context.node("Neg", {x.name});
  return renamed(x, context.node("Neg", {context.node("Softplus", {negated})}));
}

OnnxValue emit_log_softmax(EmitContext& context, const OnnxValue& x) {
  return renamed(x,
                 context.node("LogSoftmax", {x.name}, {{"axis", int64_t{-1}}}));
}

OnnxValue emit_mish(EmitContext& context, const OnnxValue& x) {
  const std::string softplus = context.node("Softplus", {x.name});
  return renamed(
      x, context.node("Mul", {x.name, context.node("Tanh", {softplus})}));
}

// Reduces |x| by 0.5, down to 0.
Variable soft_shrink(const Variable& x) {
  return relu(x - 0.5f) - relu(-x - 0.5f);
}
OnnxValue emit_soft_shrink(EmitContext& context, const OnnxValue& x) {
  const std::string half = context.scalar("half", 0.5f);
  const std::string above =
      context.node("Relu", {context.node("Sub", {x.name, half})});
  const std::string negated = context.node("Neg", {x.name});
  const std::string below =
      context.node("Relu", {context.node("Sub", {negated, half})});
  return renamed(x, context.node("Sub", {above, below}));
}

// 0 for x <= -1, (x + 1)^2 / 4 up to 1, then x.
Variable sparse_plus(const Variable& x) {
  return 0.25f * square(hard_tanh(x) + 1) + relu(x - 1);
}
OnnxValue emit_sparse_plus(EmitContext& context, const OnnxValue& x) {
  const std::string one = context.scalar("one", 1);
  const std::string sum =
      context.node("Add", {emit_hard_tanh(context, x).name, one});
  const std::string quarter = context.node(
      "Mul",
      {context.node("Mul", {sum, sum}), context.scalar("quarter", 0.25f)});
  const std::string above =
      context.node("Relu", {context.node("Sub", {x.name, one})});
  return renamed(x, context.node("Add", {quarter, above}));
}

// min(max((x + 1) / 2, 0), 1).
Variable sparse_sigmoid(const Variable& x) {
  return relu(scale_shift(x, 0.5f, 0.5f), 1);
}
OnnxValue emit_sparse_sigmoid(EmitContext& context, const OnnxValue& x) {
  return renamed(x, context.node("HardSigmoid", {x.name},
                                 {{"alpha", 0.5f}, {"beta", 0.5f}}));
}

// (x + sqrt(x^2 + 4)) / 2.
Variable squareplus(const Variable& x) {
  return 0.5f * (x + octet::sqrt(square(x) + 4));
}
OnnxValue emit_squareplus(EmitContext& context, const OnnxValue& x) {
  const std::string squares = context.node("Mul", {x.name, x.name});
  const std::string root = context.node(
      "Sqrt", {context.node("Add", {squares, context.scalar("four", 4)})});
  return renamed(x, context.node("Mul", {context.node("Add", {x.name, root}),
                                         context.scalar("half", 0.5f)}));
}

OnnxValue emit_tanh_shrink(EmitContext& context, const OnnxValue& x) {
  return renamed(x,
                 context.node("Sub", {x.name, context.node("Tanh", {x.name})}));
}

constexpr ActivationFunction kComposed[] = {
    {"celu", octet::celu, emit_celu},
    {"gelu_tanh", gelu_tanh, emit_gelu_tanh},
    {"hard_shrink", hard_shrink, emit_hard_shrink},
    {"hard_tanh", hard_tanh, emit_hard_tanh},
    {"log_sigmoid", log_sigmoid, emit_log_sigmoid},
    {"log_softmax", [](const Variable& x) { return octet::log_softmax(x); },
     emit_log_softmax},
    {"mish", mish, emit_mish},
    {"soft_shrink", soft_shrink, emit_soft_shrink},
    {"sparse_plus", sparse_plus, emit_sparse_plus, true},
    {"sparse_sigmoid", sparse_sigmoid, emit_sparse_sigmoid, true},
    {"squareplus", squareplus, emit_squareplus, true},
    {"tanh_shrink", [](const Variable& x) { return x - octet::tanh(x); },
     emit_tanh_shrink},
};

}  // namespace

std::span<const ActivationFunction> composed_activations() { return kComposed; }

}  // namespace octet
