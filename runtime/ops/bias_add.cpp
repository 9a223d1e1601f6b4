#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "autograd/channel_sums.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Gradient;
using autograd::Node;

// Computes z + bias.
struct BiasNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    Gradient g = Engine::collect(*this);
    if (g.totals.empty()) {
      autograd::ChannelSums s = autograd::channel_sums(std::move(g), z);
      g = autograd::plain_gradient(s.g);
      g.totals = std::move(s.sum);
    }
    Tensor db;
    if (!g.value.first.t.empty() && bias != nullptr) {
      db = Tensor(bias->shape);
      std::ranges::transform(g.totals, db.f32().begin(), [](double sum) {
        return static_cast<float>(sum);
      });
    }
    engine.deliver(x, std::move(g));
    engine.deliver(bias, autograd::plain_gradient(db));
  }
  void release() override { z = {}; }

  Node* x = nullptr;
  Node* bias = nullptr;
  Tensor z;
};

}  // namespace

Variable bias_add(const Variable& x, const Variable& bias) {
  if (x.shape().rank() < 1 || bias.shape() != Shape{x.shape()[-1]}) {
    throw ShapeError(
        "shape_mismatch", "bias_add",
        fmt::format("the bias must match the last axis of {}, got {}",
                    x.shape().to_string(), bias.shape().to_string()));
  }
  autograd::Term z = x.node()->term();
  auto node = std::make_shared<BiasNode>("bias_add", x.shape());
  node->depend_on(x.node());
  node->depend_on(bias.node());
  z.target = node.get();
  // A copy: the optimizer may update the parameter before this is evaluated.
  z.b = bias.value().clone();
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->bias = bias.requires_grad() ? bias.node().get() : nullptr;
    node->z = z.t.now();
  } else {
    z.target = nullptr;
  }
  autograd::Expression e;
  e.shape = x.shape();
  e.first = std::move(z);
  return autograd::wrap("bias_add", std::move(e));
}

}  // namespace octet
