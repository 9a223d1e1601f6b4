#include "checks.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::train {
namespace {

enum class Among { trainable, fixed };

/// Returns the path of the first parameter that is not finite, "conv2d/kernel",
/// or "".
std::string first_bad(const Model& model, Among among) {
  for (const auto& layer : model.layers()) {
    std::vector<Parameter> all = layer->scale_parameters();
    all.insert(all.begin(), layer->parameters().begin(),
               layer->parameters().end());
    for (const Parameter& parameter : all) {
      if (parameter.trainable != (among == Among::trainable)) continue;
      const Tensor& value = parameter.variable.value();
      if (value.dtype() == DType::f32 && !all_finite(value)) {
        return fmt::format("{}/{}", layer->name(), parameter.name);
      }
    }
  }
  return {};
}

/// Returns the description of the first layer in graph order whose output is
/// not finite, "in layer 'conv1' (Conv2D)", or "".
std::string first_bad_layer(const Model& model,
                            const std::vector<Tensor>& inputs) {
  const NoGradGuard no_grad;
  std::string found;
  const std::vector<Variable> x(inputs.begin(), inputs.end());
  model.run(x, [&](const GraphNode& node, const Variable& y) {
    if (found.empty() && !all_finite(y.value())) {
      found = node.layer->describe();
    }
  });
  return found;
}

bool not_finite(const Tensor& tensor) {
  return !tensor.empty() && tensor.dtype() == DType::f32 && !all_finite(tensor);
}

constexpr std::string_view kLowerTheRate = "Hint: lower the learning rate";
constexpr std::string_view kCheckTheData = "Hint: check the data";

}  // namespace

void check_learning_rate(std::string_view subject, float rate) {
  if (!(rate >= 0.0f) || std::isinf(rate)) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("learning_rate must be finite and at least 0, got {}",
                    number_text(rate)));
  }
}

void check_decay(std::string_view subject, std::string_view option,
                 float value) {
  if (!(value >= 0.0f && value < 1.0f)) {
    throw ValueError("out_of_range", subject,
                     fmt::format("{} must be in [0, 1), got {}", option,
                                 number_text(value)));
  }
}

void check_above_zero(std::string_view subject, std::string_view option,
                      float value) {
  if (!(value > 0.0f) || std::isinf(value)) {
    throw ValueError("out_of_range", subject,
                     fmt::format("{} must be finite and positive, got {}",
                                 option, number_text(value)));
  }
}

void check_epsilon(std::string_view subject, float value) {
  check_above_zero(subject, "epsilon", value);
}

void check_weight_decay(std::string_view subject, const WeightDecay& decay) {
  if (!(decay.rate >= 0.0f) || std::isinf(decay.rate)) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("weight_decay must be finite and at least 0, got {}",
                    number_text(decay.rate)));
  }
}

void check_not_negative(std::string_view subject, std::string_view option,
                        int64_t value) {
  if (value < 0) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("{} must be at least 0, got {}", option, value));
  }
}

void check_positive(std::string_view subject, std::string_view option,
                    int64_t value) {
  if (value < 1) {
    throw ValueError("out_of_range", subject,
                     fmt::format("{} must be positive, got {}", option, value));
  }
}

void check_metrics(std::string_view subject, const Metrics& metrics) {
  std::unordered_set<std::string> names;
  for (const Metric& metric : metrics) {
    if (metric.name.empty() || !metric.each) {
      throw ValueError(
          "missing_value", subject,
          metric.name.empty()
              ? "the name of a metric must not be empty"
              : fmt::format("metric '{}' must have a function", metric.name));
    }
    if (metric.name == "loss" || metric.name == "learning_rate" ||
        metric.name == "gradient_norm" || metric.name.starts_with("val_")) {
      throw ValueError(
          "invalid_value", subject,
          fmt::format("metric name '{}' is reserved for another value",
                      metric.name));
    }
    if (!names.insert(metric.name).second) {
      throw ValueError(
          "duplicate_name", subject,
          fmt::format("two metrics have the name '{}'", metric.name));
    }
  }
}

std::string number_text(float value) {
  return std::isnan(value) ? "nan" : fmt::format("{}", value);
}

bool all_finite(const Tensor& tensor) {
  return std::ranges::all_of(tensor.f32(),
                             [](float x) { return std::isfinite(x); });
}

std::string first_bad_parameter(const Model& model) {
  return first_bad(model, Among::trainable);
}

void expect_finite_inputs(const Batch& batch) {
  if (std::ranges::any_of(batch.inputs, not_finite)) {
    throw ValueError(
        "not_finite", "inputs",
        fmt::format("values of the batch are not finite. {}", kCheckTheData));
  }
}

std::string explain_bad_loss(const Model& model, const Batch& batch) {
  if (const std::string name = first_bad_parameter(model); !name.empty()) {
    return fmt::format("parameter '{}' is not finite. {}", name, kLowerTheRate);
  }
  for (const auto& [name, tensors] :
       {std::pair("inputs", batch.inputs), std::pair("labels", batch.labels),
        std::pair("weights", std::vector{batch.weights})}) {
    if (std::ranges::any_of(tensors, not_finite)) {
      return fmt::format("the {} of the batch are not finite. {}", name,
                         kCheckTheData);
    }
  }
  // Before the statistics: an overflow in a layer also corrupts the statistics
  // of the following batch normalization.
  if (const std::string layer = first_bad_layer(model, batch.inputs);
      !layer.empty()) {
    return fmt::format("the first output that is not finite is {}. {}", layer,
                       kLowerTheRate);
  }
  if (const std::string name = first_bad(model, Among::fixed); !name.empty()) {
    return fmt::format("parameter '{}' is not finite. {}", name, kLowerTheRate);
  }
  return fmt::format("all parameters and layers are finite. {}", kLowerTheRate);
}

}  // namespace octet::train
