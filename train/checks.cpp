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

/// "conv2d/kernel" of the first parameter that is not finite, or nothing.
std::string first_bad(const Model& model, Among among) {
  for (const auto& layer : model.layers()) {
    std::vector<Parameter> all = layer->moving_scales();
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

/// "in layer 'conv1' (Conv2D)" of the first layer in the order of the graph
/// whose output is not finite, or nothing.
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
        fmt::format("{}: expected a finite learning_rate >= 0, got {}", subject,
                    number_text(rate)));
  }
}

void check_decay(std::string_view subject, std::string_view option,
                 float value) {
  if (!(value >= 0.0f && value < 1.0f)) {
    throw ValueError(fmt::format("{}: expected {} in [0,1), got {}", subject,
                                 option, number_text(value)));
  }
}

void check_above_zero(std::string_view subject, std::string_view option,
                      float value) {
  if (!(value > 0.0f) || std::isinf(value)) {
    throw ValueError(fmt::format("{}: expected a finite {} above 0, got {}",
                                 subject, option, number_text(value)));
  }
}

void check_epsilon(std::string_view subject, float value) {
  check_above_zero(subject, "epsilon", value);
}

void check_weight_decay(std::string_view subject, const WeightDecay& decay) {
  if (!(decay.rate >= 0.0f) || std::isinf(decay.rate)) {
    throw ValueError(
        fmt::format("{}: expected a finite weight_decay >= 0, got {}", subject,
                    number_text(decay.rate)));
  }
}

void check_not_negative(std::string_view subject, std::string_view option,
                        int64_t value) {
  if (value < 0) {
    throw ValueError(fmt::format("{}: expected {} of 0 or more, got {}",
                                 subject, option, value));
  }
}

void check_positive(std::string_view subject, std::string_view option,
                    int64_t value) {
  if (value < 1) {
    throw ValueError(fmt::format("{}: expected {} of 1 or more, got {}",
                                 subject, option, value));
  }
}

void check_metrics(std::string_view subject, const Metrics& metrics) {
  std::unordered_set<std::string> names;
  for (const Metric& metric : metrics) {
    if (metric.name.empty() || !metric.each) {
      throw ValueError(fmt::format(
          "{}: expected metrics with a name and a function, got {}", subject,
          metric.name.empty() ? "an empty name" : "an empty function"));
    }
    if (metric.name == "loss" || metric.name == "learning_rate" ||
        metric.name == "gradient_norm" || metric.name.starts_with("val_")) {
      throw ValueError(fmt::format(
          "{}: expected names of metrics that are not those of other values, "
          "got '{}'",
          subject, metric.name));
    }
    if (!names.insert(metric.name).second) {
      throw ValueError(
          fmt::format("{}: expected metrics of different names, got '{}' twice",
                      subject, metric.name));
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
    throw ValueError(fmt::format(
        "inputs: expected finite values, got others. {}", kCheckTheData));
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
  // Before the statistics: a layer that overflows also spoils those of the
  // batch normalization after it.
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
