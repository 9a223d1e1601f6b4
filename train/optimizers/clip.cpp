#include <algorithm>
#include <cmath>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/optimizer.h>

#include "checks.h"
#include "distributed/gradient_squares.h"

namespace octet::train {
namespace {

/// Returns the existing gradients; the tensors share their memory.
std::vector<Tensor> gradients_of(std::span<const Variable> parameters) {
  std::vector<Tensor> found;
  for (const Variable& parameter : parameters) {
    if (!parameter.grad().empty()) found.push_back(parameter.grad());
  }
  return found;
}

/// Throws: ValueError if there are parameters but no gradients, as for
/// parameters of a different model.
void expect_gradients(std::string_view subject,
                      std::span<const Variable> parameters) {
  if (parameters.empty() ||
      std::ranges::any_of(parameters, [](const Variable& parameter) {
        return !parameter.grad().empty();
      })) {
    return;
  }
  throw ValueError(
      "no_gradient", subject,
      fmt::format("none of the {} parameters has a gradient. Hint: call "
                  "backward() before, and pass the parameters of the trained "
                  "model; a quantized or cloned model has separate parameters",
                  parameters.size()));
}

template <class Body>
void for_each_gradient(std::vector<Tensor>& gradients, const Body& body) {
  parallel_for(static_cast<int64_t>(gradients.size()), [&](int64_t i) {
    body(static_cast<size_t>(i), gradients[static_cast<size_t>(i)].f32());
  });
}

}  // namespace

std::vector<double> gradient_squares(std::span<const Variable> parameters) {
  std::vector<Tensor> gradients = gradients_of(parameters);
  std::vector<double> squares(gradients.size());
  for_each_gradient(gradients, [&](size_t i, std::span<float> gradient) {
    for (const float g : gradient) squares[i] += double{g} * double{g};
  });
  return squares;
}

double gradient_norm(std::span<const Variable> parameters) {
  double sum = 0;
  for (const double each : gradient_squares(parameters)) sum += each;
  return std::sqrt(sum);
}

void limit_gradients(std::span<const Variable> parameters, double norm,
                     float limit) {
  if (!(norm > double{limit}) || !std::isfinite(norm)) return;
  const double scale = double{limit} / norm;
  std::vector<Tensor> gradients = gradients_of(parameters);
  for_each_gradient(gradients, [&](size_t, std::span<float> gradient) {
    for (float& g : gradient) g = static_cast<float>(double{g} * scale);
  });
}

void limit_gradient_values(std::span<const Variable> parameters, float limit) {
  std::vector<Tensor> gradients = gradients_of(parameters);
  for_each_gradient(gradients, [&](size_t, std::span<float> gradient) {
    for (float& g : gradient) g = std::clamp(g, -limit, limit);
  });
}

double clip_gradients_by_norm(std::span<const Variable> parameters,
                              float limit) {
  check_above_zero("clip_gradients_by_norm", "limit", limit);
  expect_gradients("clip_gradients_by_norm", parameters);
  const double norm = gradient_norm(parameters);
  limit_gradients(parameters, norm, limit);
  return norm;
}

void clip_gradients_by_value(std::span<const Variable> parameters,
                             float limit) {
  check_above_zero("clip_gradients_by_value", "limit", limit);
  expect_gradients("clip_gradients_by_value", parameters);
  limit_gradient_values(parameters, limit);
}

}  // namespace octet::train
