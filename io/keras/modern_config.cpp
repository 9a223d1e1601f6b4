// Configurations of all Keras versions in the format of the latest.
// Sources: keras/layers of Keras 1.2.2 (convolutional.py, core.py,
// normalization.py, pooling.py) and keras/legacy/layers.py of Keras 2.2.
#include <algorithm>
#include <functional>
#include <span>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/custom_layer.h>
#include <octet/layers/parameter.h>
#include <octet/runtime/error.h>

#include "keras/layer_sequence.h"

namespace octet::io {
namespace {

// Renamed options of all classes.
constexpr KerasDef::Renamed kRenamed[] = {
    {"border_mode", "padding"},
    {"subsample", "strides"},
    {"bias", "use_bias"},
    {"nb_filter", "filters"},
    {"atrous_rate", "dilation_rate"},
};

KerasDef keras_def(const KerasLayer& layer) {
  if (layer.class_name == "Merge") {
    return {.renamed = {{{"concat_axis", "axis"}}}};
  }
  const LayerDef* def = find_layer_def(layer.class_name);
  return def == nullptr ? KerasDef{} : def->keras;
}

// Booleans, which some writers store as 0 and 1. `scale` is a boolean if it
// enables gamma, and a number in Rescaling.
constexpr std::string_view kBooleans[] = {
    "use_bias", "center",      "keepdims", "invert", "trainable",
    "scale",    "rms_scaling", "renorm",   "sparse", "ragged",
};

bool is_boolean(KerasLayout layout, std::string_view key) {
  if (key == "scale" && layout != KerasLayout::channels) return false;
  return std::ranges::find(kBooleans, key) != std::end(kBooleans);
}

// Tries to parse options of training, which may be user-defined.
bool reads(const std::function<void()>& read) {
  try {
    read();
    return true;
  } catch (const Error&) {
    return false;
  }
}
bool is_dropped(const std::string& key, const Config& value) {
  if (key.ends_with("_initializer")) {
    return !reads([&] { (void)Initializer::from_config(value); });
  }
  if (key.ends_with("_regularizer")) {
    return !reads([&] { (void)regularizer_from_config(value); });
  }
  return false;
}

Config renamed(const KerasLayer& layer) {
  Config config = Config::Object();
  const KerasDef form = keras_def(layer);
  const auto name_of = [&](const std::string& key) {
    for (const std::span<const KerasDef::Renamed> list :
         {std::span<const KerasDef::Renamed>(form.renamed),
          std::span<const KerasDef::Renamed>(kRenamed)}) {
      for (const KerasDef::Renamed& r : list) {
        if (key == r.old_name) return std::string(r.name);
      }
    }
    return key;
  };
  for (const auto& [key, value] : layer.config.as_object()) {
    const std::string name = name_of(key);
    // If both names are present, the new one has priority.
    if (name == key || layer.config.find(name) == nullptr) {
      config.set(name, value);
    }
  }
  const Config* rows = config.find("nb_row");
  const Config* columns = config.find("nb_col");
  if (rows != nullptr && columns != nullptr) {
    const Config::List size{*rows, *columns};
    config.set("kernel_size", size);
  }
  if (const Config* order = config.find("dim_ordering")) {
    const bool first = *order == Config("th");
    if (!first && *order != Config("tf") && *order != Config("default")) {
      throw FormatError("invalid_value", "dim_ordering",
                        "must be 'tf' or 'th'");
    }
    config.set("data_format", first ? "channels_first" : "channels_last");
  }
  return config;
}

}  // namespace

Config modern_config(const KerasLayer& layer) {
  const KerasDef form = keras_def(layer);
  const Config now = renamed(layer);
  Config result = Config::Object();
  for (const auto& [key, value] : now.as_object()) {
    if (is_dropped(key, value)) continue;
    // Null is the default, except for a choice of axes.
    if (value.is_null() &&
        (form.layout != KerasLayout::statistics || key != "axis")) {
      continue;
    }
    if (is_boolean(form.layout, key) && value.is_int()) {
      if (value.as_int() != 0 && value.as_int() != 1) {
        throw FormatError(
            "invalid_value", key,
            fmt::format("must be true or false, got {}", value.as_int()));
      }
      result.set(key, value.as_int() == 1);
    } else {
      result.set(key, value);
    }
  }
  if (form.upgrade != nullptr) form.upgrade(result);
  return result;
}

bool has_channels_first(const Config& config) {
  const Config* format = config.find("data_format");
  if (format == nullptr || format->is_null()) return false;
  const std::string& name = format->as_string();
  if (name != "channels_first" && name != "channels_last") {
    throw FormatError(
        "invalid_value", "data_format",
        fmt::format("must be channels_last or channels_first, got '{}'", name));
  }
  return name == "channels_first";
}

bool has_channels_first(const KerasLayer& layer) {
  const Config* order = layer.config.find("dim_ordering");
  if (order != nullptr) return *order == Config("th");
  return has_channels_first(layer.config);
}

}  // namespace octet::io
