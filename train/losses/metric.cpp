#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>
#include <octet/train/metric.h>

#include "accuracy.h"
#include "checks.h"
#include "target_shape.h"

namespace octet::train {

Metrics for_model(const Metrics& metrics, const Model& model, size_t output) {
  Metrics adapted = metrics;
  for (Metric& metric : adapted) {
    if (!metric.adapt) continue;
    std::string name = metric.name;  // may differ from the adapted metric's
    metric = metric.adapt(output_activation(model, output));
    metric.name = std::move(name);
  }
  return adapted;
}

namespace metrics {
namespace {

/// Returns the mean of `term(output, target)` over the values of each sample.
template <class Term>
std::vector<double> means(std::string_view name, const Tensor& outputs,
                          const Tensor& labels, const Term& term) {
  const Tensor targets = targets_for(name, outputs.shape(), labels);
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

/// Threshold above which an output means class 1.
float threshold_after(const std::string& activation) {
  return activation == "sigmoid" || activation == "softmax" ? 0.5f : 0.0f;
}

}  // namespace

Metric accuracy(std::optional<int64_t> ignore_label) {
  const auto above = [ignore_label](float bound) {
    return Metric{
        "accuracy",
        [ignore_label, bound](const Tensor& outputs, const Batch& batch) {
          const Shape& shape = outputs.shape();
          return shape.rank() > 1 && shape[-1] == 1
                     ? on_right_side("accuracy", outputs, batch.label(), bound,
                                     ignore_label)
                     : in_top_k("accuracy", outputs, batch.label(), 1,
                                ignore_label);
        }};
  };
  Metric metric = above(0.0f);
  metric.adapt = [above](const std::string& activation) {
    return above(threshold_after(activation));
  };
  return metric;
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
    return Metric{"binary_accuracy",
                  [bound](const Tensor& outputs, const Batch& batch) {
                    return on_right_side("binary_accuracy", outputs,
                                         batch.label(), bound);
                  }};
  };
  Metric metric = above(threshold.value_or(0.0f));
  if (!threshold) {
    metric.adapt = [above](const std::string& activation) {
      return above(threshold_after(activation));
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
