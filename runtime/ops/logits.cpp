#include "logits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../autograd/node.h"

namespace octet::loss {
namespace {

// Source: Keras, backend.epsilon().
constexpr double kLeast = 1e-7;

/// Up to rounding.
void check_probabilities(std::string_view loss, const Tensor& p) {
  for (const float value : p.f32()) {
    if (!(value < -1e-6f || value > 1 + 1e-3f)) continue;
    throw ValueError(
        fmt::format("{}: expected probabilities in [0,1] for from_logits = "
                    "false, got {}",
                    loss, value));
  }
}

Variable logarithm(const Variable& p, bool sigmoid) {
  const double most = sigmoid ? 1 - kLeast : 1;
  const Tensor from = p.value();
  Tensor x(from.shape());
  Tensor slope(from.shape());
  const auto values = from.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    // A NaN stays one.
    const double q = value < kLeast ? kLeast : value > most ? most : value;
    x.f32()[i] =
        static_cast<float>(sigmoid ? std::log(q / (1 - q)) : std::log(q));
    const bool clipped = value < kLeast || value > most;
    slope.f32()[i] = static_cast<float>(clipped   ? 0
                                        : sigmoid ? 1 / (q * (1 - q))
                                                  : 1 / q);
  }
  return record("log", {p}, x, {}, [slope](const Tensor& dy) {
    Tensor dx = dy.clone();
    std::ranges::transform(dx.f32(), slope.f32(), dx.f32().begin(),
                           std::multiplies<>());
    return std::vector{dx};
  });
}

}  // namespace

Variable logits_of(std::string_view loss, std::string_view activation,
                   const Variable& outputs, bool from_logits) {
  const autograd::NodePtr& node = outputs.node();
  const bool made = node != nullptr && node->op == activation;
  if (from_logits) {
    if (!made) return outputs;
    throw ValueError(fmt::format(
        "{0}: expected logits, got the output of {1}. Hint: say .from_logits "
        "= false, or leave out the {1}",
        loss, activation));
  }
  if (made && node->inputs.size() == 1) return Variable(node->inputs[0]);
  check_probabilities(loss, outputs.value());
  return logarithm(outputs, activation == "sigmoid");
}

}  // namespace octet::loss
