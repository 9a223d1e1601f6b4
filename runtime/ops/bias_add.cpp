#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../autograd/channel_sums.h"

namespace octet {
namespace {

using autograd::Engine;
using autograd::Node;

// Stands for z + bias.
struct BiasNode final : Node {
  using Node::Node;

  void backward(Engine& engine) override {
    const autograd::ChannelSums s = autograd::channel_sums(*this, z);
    engine.deliver(x, autograd::plain_gradient(s.g));
    Tensor db;
    if (!s.g.empty() && bias != nullptr) {
      db = Tensor(bias->shape);
      const auto to = db.f32();
      for (size_t k = 0; k < to.size(); ++k) {
        to[k] = static_cast<float>(s.sum[k]);
      }
    }
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
        fmt::format("bias_add: expected a bias for the last axis "
                    "of {}, got {}",
                    x.shape().to_string(), bias.shape().to_string()));
  }
  const Tensor& z = x.value();
  auto node = std::make_shared<BiasNode>("bias_add", x.shape());
  node->depend_on(x.node());
  node->depend_on(bias.node());
  autograd::Expression e = autograd::expression_of(z, node.get());
  // A copy: the optimizer moves the parameter while this may still be read.
  e.first.b = bias.value().clone();
  if (node->needs_grad) {
    node->x = x.requires_grad() ? x.node().get() : nullptr;
    node->bias = bias.requires_grad() ? bias.node().get() : nullptr;
    node->z = z;
  } else {
    e.first.target = nullptr;
  }
  Variable y = autograd::wrap("bias_add", std::move(e));
  // Sums of a linear op's value only: those of another bias_add are of what
  // lies below its bias.
  if (x.node()->expression() == nullptr) {
    y.node()->statistics = x.node()->statistics;
  }
  return y;
}

}  // namespace octet
