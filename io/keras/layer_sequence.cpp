#include "keras/layer_sequence.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/error.h>

#include "keras/builder.h"
#include "keras/operation.h"
#include "keras/recurrent.h"
#include "keras/training_only.h"

namespace octet::io {
namespace {

constexpr std::string_view kMerge = "Merge";  // Keras 1

// Returns the class of a Keras 1 Merge layer, or "" if unsupported.
std::string_view merge_class(const Config& config) {
  static constexpr std::pair<std::string_view, std::string_view> kModes[] = {
      {"sum", "Add"},     {"mul", "Multiply"},       {"ave", "Average"},
      {"max", "Maximum"}, {"concat", "Concatenate"},
  };
  const Config* mode = config.find("mode");
  // With `layers`, a Merge is the first layer of a Sequential without input.
  const Config* layers = config.find("layers");
  const bool branches =
      layers != nullptr && layers->is_list() && !layers->as_list().empty();
  if (mode == nullptr || !mode->is_string() || branches) return "";
  for (const auto& [name, class_name] : kModes) {
    if (mode->as_string() == name) return class_name;
  }
  return "";
}

// Returns the options of a ReLU that equals ThresholdedReLU, which is 0 up to
// theta, else x.
Config relu_options(const Config& config) {
  const Config* theta = config.find("theta");
  return Config().set("threshold", theta == nullptr ? Config(1.0) : *theta);
}

// Returns the options of a Dropout that drops whole samples of a branch.
// Source: keras/src/applications/convnext.py.
Config dropout_options(const Config& config) {
  return Config()
      .set("rate", config.at("drop_path_rate"))
      .set("noise_shape", Config::List{Config(), 1, 1, 1});
}

// Returns the options of a Resizing that equals RandomCrop in inference: it
// crops the largest center of the output's aspect ratio and resizes it.
// Source: keras/layers/preprocessing/image_preprocessing.py of Keras 2.
Config resizing_options(const Config& config) {
  Config result = Config()
                      .set("height", config.at("height"))
                      .set("width", config.at("width"))
                      .set("crop_to_aspect_ratio", true);
  if (const Config* format = config.find("data_format")) {
    result.set("data_format", *format);
  }
  return result;
}

// Keras classes that are imported as another class.
struct Replacement {
  std::string_view class_name;
  const char* octet;
  Config (*options)(const Config& config);
};
constexpr Replacement kReplacements[] = {
    {"RandomCrop", "Resizing", resizing_options},
    {"StochasticDepth", "Dropout", dropout_options},
    {"ThresholdedReLU", "ReLU", relu_options},
};

const Replacement* find_replacement(std::string_view class_name) {
  const auto* found =
      std::ranges::find(kReplacements, class_name, &Replacement::class_name);
  return found == std::end(kReplacements) ? nullptr : found;
}

bool has_activation_option(std::string_view class_name) {
  const LayerDef* def = find_layer_def(class_name);
  return def != nullptr && def->keras.has_activation;
}

}  // namespace

const Config& option(const Config& config, std::string_view key) {
  static const Config kNone;
  const Config* value = config.find(key);
  return value == nullptr ? kNone : *value;
}

std::vector<int64_t> integers_of(const Config& value) {
  if (value.is_null()) return {};
  if (!value.is_list()) return {value.as_int()};
  std::vector<int64_t> result;
  for (const Config& entry : value.as_list()) result.push_back(entry.as_int());
  return result;
}

std::vector<int64_t> integers_of(const Config& config, std::string_view key) {
  return integers_of(option(config, key));
}

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
  return find_replacement(layer.class_name) != nullptr || is_noop(layer) ||
         is_composite(layer.class_name) ||
         find_builder(layer.class_name) != nullptr ||
         find_layer_def(layer.class_name) != nullptr ||
         is_known_operation(layer);
}

bool is_noop(const KerasLayer& layer) {
  return layer.class_name == "Identity" || is_augmentation(layer.class_name);
}

std::vector<LayerSpec> layer_sequence(const KerasLayer& layer,
                                      const KerasContext& context) {
  if (const KerasLayerFactory* factory = find_factory(context.options, layer)) {
    return {{"", layer.class_name, layer.config, factory}};
  }
  if (is_noop(layer)) return {};
  if (const Replacement* other = find_replacement(layer.class_name)) {
    return {{"", other->octet, other->options(layer.config)}};
  }
  Config config = modern_config(layer);
  if (layer.class_name == kMerge) {
    return {{"", std::string(merge_class(config)), std::move(config)}};
  }
  if (is_recurrent(layer.class_name)) {
    convert_cell_functions(layer, context, config);
  }
  if (!has_activation_option(layer.class_name)) {
    return {{"", layer.class_name, std::move(config)}};
  }
  ActivationConversion form =
      activation_of(option(config, "activation"), context);
  // Softmax is computed along the last axis, which must be the channels: a
  // separate layer gets its input in that order.
  const bool is_activation = layer.class_name == "Activation";
  if (form.name.ends_with("softmax") && !is_activation &&
      has_channels_first(config)) {
    form = {"linear",
            {{"/" + form.name, "Activation",
              Config().set("activation", form.name)}}};
  }
  std::vector<LayerSpec> steps;
  if (!is_activation || form.steps.empty()) {
    config.set("activation", form.name);
    steps.push_back({"", layer.class_name, std::move(config)});
  } else {
    form.steps.back().suffix.clear();
  }
  for (LayerSpec& step : form.steps) steps.push_back(std::move(step));
  return steps;
}

}  // namespace octet::io
