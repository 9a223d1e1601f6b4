#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "elementwise.h"
#include "kernels/kernels.h"
#include "tensor/broadcast.h"

namespace octet {
namespace {

using kernels::Activation;
using kernels::Function;

// f(x), or dy * f'(x) if `dy` is given.
Tensor run(Activation f, const Tensor& x, const Tensor& dy) {
  Tensor out(x.shape());
  const float* const from = x.f32().data();
  const float* const from_dy = dy.empty() ? nullptr : dy.f32().data();
  float* const to = out.f32().data();
  parallel_partitions(x.size(), [&](int64_t first, int64_t last) {
    Activation call = f;
    call.x = from + first;
    call.dy = from_dy == nullptr ? nullptr : from_dy + first;
    call.out = to + first;
    call.n = last - first;
    kernels::table().activate(call);
  });
  return out;
}

// The gradient recomputes from x, the only saved tensor.
Variable activation(const char* name, const Variable& x, const Activation& f) {
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = name, .inputs = {x}, .shape = x.shape(), .attributes = f};
  });
  if (traced) return traced;
  return record(name, {x}, run(f, x.value(), {}), {x.value()},
                [x = x.value(), f](const Tensor& dy) {
                  return std::vector{run(f, x, dy)};
                });
}

void expect_finite(const char* op, const char* option, float value) {
  if (!std::isfinite(value)) {
    throw ValueError("not_finite", op,
                     fmt::format("{} must be finite, got {}", option, value));
  }
}

}  // namespace

Variable relu(const Variable& x, const ReluOptions& options) {
  if (!(options.max_value > 0)) {
    throw ValueError(
        "out_of_range", "relu",
        fmt::format("max_value must be positive, got {}", options.max_value));
  }
  expect_finite("relu", "negative_slope", options.negative_slope);
  expect_finite("relu", "threshold", options.threshold);
  if (options.negative_slope == 0 && options.threshold == 0) {
    return relu(x, options.max_value);  // deferred
  }
  return activation("leaky_relu", x,
                    {.function = Function::relu,
                     .alpha = options.negative_slope,
                     .beta = options.threshold,
                     .gamma = options.max_value});
}

Variable leaky_relu(const Variable& x, float slope) {
  return relu(x, ReluOptions{.negative_slope = slope});
}

Variable prelu(const Variable& x, const Variable& alpha) {
  const Broadcast plan("prelu", x.shape(), alpha.shape());
  if (plan.shape() != x.shape()) {
    throw ShapeError(
        "shape_mismatch", "prelu",
        fmt::format("alpha {} does not broadcast to x {}",
                    alpha.shape().to_string(), x.shape().to_string()));
  }
  const auto sloped = [](float v, float a) { return v > 0 ? v : a * v; };
  const Variable traced =
      offer_elementwise("prelu", x, alpha, x.shape(), sloped);
  if (traced) return traced;
  const Tensor y = combine(plan, {}, x.value(), alpha.value(), sloped);
  return record("prelu", {x, alpha}, y, {x.value(), alpha.value()},
                [x = x.value(), alpha = alpha.value(), plan](const Tensor& dy) {
                  return std::vector{
                      combine(plan, dy, x, alpha,
                              [](float g, float v, float a) {
                                return v > 0 ? g : v < 0 ? a * g : 0.0f;
                              }),
                      combine(plan, dy, x, alpha, [](float g, float v, float) {
                        return v < 0 ? g * v : 0.0f;
                      })};
                });
}

Variable elu(const Variable& x, float alpha) {
  expect_finite("elu", "alpha", alpha);
  return activation("elu", x,
                    {.function = Function::elu, .alpha = alpha, .beta = 1});
}

Variable selu(const Variable& x) {
  return activation("selu", x,
                    {.function = Function::elu,
                     .alpha = 1.67326324235437728f,
                     .beta = 1.05070098735548049f});
}

Variable sigmoid(const Variable& x) {
  return activation("sigmoid", x, {.function = Function::sigmoid});
}

Variable tanh(const Variable& x) {
  return activation("tanh", x, {.function = Function::tanh});
}

Variable swish(const Variable& x) {
  return activation("swish", x, {.function = Function::swish});
}

Variable gelu(const Variable& x, GeluForm form) {
  return activation(
      "gelu", x,
      {.function =
           form == GeluForm::exact ? Function::gelu : Function::gelu_tanh});
}

Variable hard_sigmoid(const Variable& x) {
  return activation("hard_sigmoid", x, {.function = Function::hard_sigmoid});
}

Variable hard_swish(const Variable& x) {
  return activation("hard_swish", x, {.function = Function::hard_swish});
}

Variable softplus(const Variable& x) {
  return activation("softplus", x, {.function = Function::softplus});
}

Variable softsign(const Variable& x) {
  return activation("softsign", x, {.function = Function::softsign});
}

Variable exponential(const Variable& x) {
  return activation("exponential", x, {.function = Function::exponential});
}

}  // namespace octet
