#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/logits_model.h>
#include <octet/train/metric.h>

#include "accuracy.h"
#include "checks.h"

namespace octet::train {

Metrics for_model(const Metrics& metrics, const Model& model, size_t output) {
  Metrics adapted = metrics;
  for (Metric& metric : adapted) {
    if (metric.adapt) metric = metric.adapt(output_activation(model, output));
  }
  return adapted;
}

namespace metrics {
namespace {

/// Per sample the mean of `term(output, target)` over its numbers.
template <class Term>
std::vector<double> means(std::string_view name, const Tensor& outputs,
                          const Tensor& labels, const Term& term) {
  if (labels.size() != outputs.size() || labels.size() < 1) {
    throw ShapeError(fmt::format(
        "{}: expected as many targets as outputs, got outputs {} and "
        "targets {}",
        name, outputs.shape().to_string(), labels.shape().to_string()));
  }
  const Tensor targets = as_numbers(labels);
  const auto y = outputs.f32();
  const auto t = targets.f32();
  const auto n = static_cast<size_t>(outputs.shape()[0]);
  const size_t length = y.size() / n;
  std::vector<double> result(n);
  for (size_t i = 0; i < y.size(); ++i) {
    result[i / length] += term(double{y[i]}, double{t[i]});
  }
  for (double& each : result) each /= static_cast<double>(length);
  return result;
}

}  // namespace

Metric accuracy(std::optional<int64_t> ignore_label) {
  return {
      "accuracy", [ignore_label](const Tensor& outputs, const Batch& batch) {
        return in_top_k("accuracy", outputs, batch.label(), 1, ignore_label);
      }};
}

Metric top_k_accuracy(int64_t k) {
  check_positive("top_k_accuracy", "k", k);
  std::string name = fmt::format("top_{}_accuracy", k);
  auto each = [name, k](const Tensor& outputs, const Batch& batch) {
    return in_top_k(name, outputs, batch.label(), k);
  };
  return {std::move(name), std::move(each)};
}

Metric binary_accuracy(std::optional<float> threshold) {
  const auto above = [](float bound) {
    return Metric{
        "binary_accuracy", [bound](const Tensor& outputs, const Batch& batch) {
          return means("binary_accuracy", outputs, batch.label(),
                       [bound](double y, double t) {
                         if (std::isnan(y)) return 0.0;
                         return (y > double{bound}) == (t > 0.5) ? 1.0 : 0.0;
                       });
        }};
  };
  Metric metric = above(threshold.value_or(0.0f));
  if (!threshold) {
    metric.adapt = [above](const std::string& activation) {
      const bool shares = activation == "sigmoid" || activation == "softmax";
      return above(shares ? 0.5f : 0.0f);
    };
  }
  return metric;
}

Metric mean_absolute_error() {
  constexpr auto kName = "mean_absolute_error";
  return {kName, [](const Tensor& outputs, const Batch& batch) {
            return means(kName, outputs, batch.label(),
                         [](double y, double t) { return std::fabs(y - t); });
          }};
}

Metric mean_squared_error() {
  constexpr auto kName = "mean_squared_error";
  return {kName, [](const Tensor& outputs, const Batch& batch) {
            return means(kName, outputs, batch.label(),
                         [](double y, double t) { return (y - t) * (y - t); });
          }};
}

}  // namespace metrics
}  // namespace octet::train
