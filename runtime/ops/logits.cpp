#include "logits.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "autograd/node.h"

namespace octet::loss {
namespace {

// Source: Keras, backend.epsilon().
constexpr double kLeast = 1e-7;

/// Tolerates rounding errors.
void check_probabilities(std::string_view loss, const Tensor& p) {
  for (const float value : p.f32()) {
    if (!(value < -1e-6f || value > 1 + 1e-3f)) continue;
    throw ValueError(
        "out_of_range", loss,
        fmt::format("from_logits = false needs probabilities in [0,1], got {}",
                    value));
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
    // NaN is kept.
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

/// Restores the input of a softmax or sigmoid if it was freed with its last
/// Variable and no expression recomputes it. For softmax it may differ by a
/// constant per row, which does not change losses on it.
void restore_input(autograd::Node& activation, const Tensor& output) {
  autograd::Node& input = *activation.inputs[0];
  if (!input.value.empty() || input.expression() != nullptr) return;
  const auto* function = dynamic_cast<autograd::FunctionNode*>(&activation);
  if (activation.op == "sigmoid" && function != nullptr &&
      function->kept.size() == 1) {
    input.value = function->kept[0].read();
    return;
  }
  Tensor logits(output.shape());
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  std::ranges::transform(output.f32(), logits.f32().begin(), [](float p) {
    // NaN is kept.
    return std::log(p < kSmallest ? kSmallest : p);
  });
  input.value = logits;
}

}  // namespace

Variable logits_of(std::string_view loss, std::string_view activation,
                   const Variable& outputs, bool from_logits) {
  const autograd::NodePtr& node = outputs.node();
  const bool made = node != nullptr && node->op == activation;
  if (from_logits) {
    if (!made) return outputs;
    throw ValueError("conflicting_options", loss,
                     fmt::format("needs logits, got the output of {0}. Hint: "
                                 "set .from_logits = false, or remove the {0}",
                                 activation));
  }
  if (made && node->inputs.size() == 1) {
    const Variable logits(node->inputs[0]);  // keeps its value alive
    restore_input(*node, outputs.value());
    return logits;
  }
  check_probabilities(loss, outputs.value());
  return logarithm(outputs, activation == "sigmoid");
}

}  // namespace octet::loss
