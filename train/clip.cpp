#include <algorithm>
#include <cmath>
#include <vector>

#include <octet/runtime/parallel.h>
#include <octet/train/clip.h>

#include "checks.h"

namespace octet::train {
namespace {

/// The gradients there are, as handles on their numbers.
std::vector<Tensor> gradients_of(std::span<const Variable> parameters) {
  std::vector<Tensor> found;
  for (const Variable& parameter : parameters) {
    if (!parameter.grad().empty()) found.push_back(parameter.grad());
  }
  return found;
}

template <class Body>
void for_each_gradient(std::vector<Tensor>& gradients, const Body& body) {
  parallel_for(static_cast<int64_t>(gradients.size()), [&](int64_t i) {
    body(static_cast<size_t>(i), gradients[static_cast<size_t>(i)].f32());
  });
}

double norm_of(std::vector<Tensor>& gradients) {
  std::vector<double> squares(gradients.size());
  for_each_gradient(gradients, [&](size_t i, std::span<float> gradient) {
    for (const float g : gradient) squares[i] += double{g} * double{g};
  });
  double sum = 0;
  for (const double each : squares) sum += each;
  return std::sqrt(sum);
}

}  // namespace

double gradient_norm(std::span<const Variable> parameters) {
  std::vector<Tensor> gradients = gradients_of(parameters);
  return norm_of(gradients);
}

double clip_gradients_by_norm(std::span<const Variable> parameters,
                              float limit) {
  check_above_zero("clip_gradients_by_norm", "limit", limit);
  std::vector<Tensor> gradients = gradients_of(parameters);
  const double norm = norm_of(gradients);
  if (norm > double{limit} && std::isfinite(norm)) {
    const double scale = double{limit} / norm;
    for_each_gradient(gradients, [&](size_t, std::span<float> gradient) {
      for (float& g : gradient) g = static_cast<float>(double{g} * scale);
    });
  }
  return norm;
}

void clip_gradients_by_value(std::span<const Variable> parameters,
                             float limit) {
  check_above_zero("clip_gradients_by_value", "limit", limit);
  std::vector<Tensor> gradients = gradients_of(parameters);
  for_each_gradient(gradients, [&](size_t, std::span<float> gradient) {
    for (float& g : gradient) g = std::clamp(g, -limit, limit);
  });
}

}  // namespace octet::train
