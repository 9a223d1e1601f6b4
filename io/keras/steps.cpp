#include "keras/steps.h"

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

#include "keras/attention.h"
#include "keras/operation.h"

namespace octet::io {
namespace {

// Layers of Keras that are a form of another in Octet.
constexpr std::string_view kMerge = "Merge";  // of Keras 1
constexpr std::string_view kThresholdedReLU = "ThresholdedReLU";

std::string_view merge_class(const Config& config) {
  static constexpr std::pair<std::string_view, std::string_view> kModes[] = {
      {"sum", "Add"},     {"mul", "Multiply"},       {"ave", "Average"},
      {"max", "Maximum"}, {"concat", "Concatenate"},
  };
  const Config* mode = config.find("mode");
  // With layers of its own it starts a Sequential, which then has no input.
  const Config* layers = config.find("layers");
  const bool branches =
      layers != nullptr && layers->is_list() && !layers->as_list().empty();
  if (mode == nullptr || !mode->is_string() || branches) return "";
  for (const auto& [name, class_name] : kModes) {
    if (mode->as_string() == name) return class_name;
  }
  return "";
}

// x is 0 up to theta, which ReLU calls threshold.
Config thresholded(const Config& config) {
  const Config* theta = config.find("theta");
  return Config().set("threshold", theta == nullptr ? Config(1.0) : *theta);
}

bool takes_activation(std::string_view class_name) {
  const LayerDef* def = find_layer_def(class_name);
  return def != nullptr && def->keras.has_activation;
}

bool in_registry(std::string_view class_name) {
  return find_layer_def(class_name) != nullptr;
}

}  // namespace

const KerasLayerFactory* find_factory(const KerasOptions& options,
                                      const KerasLayer& layer) {
  for (const std::string* name :
       {&layer.registered, &layer.written_class, &layer.class_name}) {
    const auto found = options.layers.find(*name);
    if (!name->empty() && found != options.layers.end()) return &found->second;
  }
  return nullptr;
}

bool is_known(const KerasLayer& layer, const KerasOptions& options) {
  if (find_factory(options, layer) != nullptr) return true;
  if (layer.operation) return is_known_operation(layer);
  if (layer.class_name == kMerge) return !merge_class(layer.config).empty();
  return layer.class_name == kThresholdedReLU ||
         layer.class_name == kAttentionClass || in_registry(layer.class_name) ||
         is_known_operation(layer);
}

std::vector<Step> steps_of(const KerasLayer& layer, const KerasDialect& dialect,
                           const KerasOptions& options) {
  if (const KerasLayerFactory* factory = find_factory(options, layer)) {
    return {{"", layer.class_name, layer.config, factory}};
  }
  if (layer.class_name == kThresholdedReLU) {
    return {{"", "ReLU", thresholded(layer.config)}};
  }
  Config config = modern_config(layer);
  if (layer.class_name == kMerge) {
    return {{"", std::string(merge_class(config)), std::move(config)}};
  }
  if (!takes_activation(layer.class_name)) {
    return {{"", layer.class_name, std::move(config)}};
  }
  const Config* value = config.find("activation");
  ActivationForm form =
      activation_of(value == nullptr ? Config() : *value, dialect, options);
  // Over the channels, which only the last axis can be.
  const bool is_activation = layer.class_name == "Activation";
  if (form.name == "softmax" && !is_activation && has_channels_first(config)) {
    form = {
        "linear",
        {{"/softmax", "Activation", Config().set("activation", "softmax")}}};
  }
  std::vector<Step> steps;
  if (!is_activation || form.steps.empty()) {
    config.set("activation", form.name);
    steps.push_back({"", layer.class_name, std::move(config)});
  } else {
    form.steps.back().suffix.clear();
  }
  for (Step& step : form.steps) steps.push_back(std::move(step));
  return steps;
}

}  // namespace octet::io
