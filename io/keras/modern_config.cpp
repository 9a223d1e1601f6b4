// Configurations of all versions of Keras in the words of the latest.
// Sources: keras/layers of Keras 1.2.2 (convolutional.py, core.py,
// normalization.py, pooling.py) and keras/legacy/layers.py of Keras 2.2.
#include <algorithm>
#include <functional>
#include <string_view>

#include <fmt/format.h>

#include <octet/layers/initializer.h>
#include <octet/layers/regularizer.h>
#include <octet/runtime/error.h>

#include "keras/steps.h"

namespace octet::io {
namespace {

struct Renamed {
  std::string_view class_name;  // empty: all
  const char* old_name;
  const char* name;
};
constexpr Renamed kRenamed[] = {
    {"", "border_mode", "padding"},
    {"", "subsample", "strides"},
    {"", "bias", "use_bias"},
    {"", "nb_filter", "filters"},
    {"", "atrous_rate", "dilation_rate"},
    {"Dense", "output_dim", "units"},
    {"Dropout", "p", "rate"},
    {"SpatialDropout2D", "p", "rate"},
    {"GaussianNoise", "sigma", "stddev"},
    {"Merge", "concat_axis", "axis"},
};

// Booleans, which some writers have as 0 and 1. `scale` is one of these where
// it switches gamma, and a number in Rescaling.
constexpr std::string_view kBooleans[] = {
    "use_bias", "center",      "keepdims", "invert", "trainable",
    "scale",    "rms_scaling", "renorm",   "sparse", "ragged",
};

bool is_boolean(std::string_view class_name, std::string_view key) {
  if (key == "scale" && !class_name.ends_with("Normalization")) return false;
  return std::ranges::find(kBooleans, key) != std::end(kBooleans);
}

// Lists in lists, as arrays are written, in one.
void flatten(const Config& value, Config::List& list) {
  if (!value.is_list()) {
    list.push_back(value);
    return;
  }
  for (const Config& entry : value.as_list()) flatten(entry, list);
}
Config flat(const Config& value) {
  if (!value.is_list()) return value;
  Config::List list;
  flatten(value, list);
  return list;
}

// What only training needs, and may be of the user's own making.
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
    return !reads([&] { (void)regularizer_from(value); });
  }
  return false;
}

// [top, bottom, left, right] of Keras 1.2.
Config pads(const Config& value) {
  if (!value.is_list() || value.as_list().size() != 4) return value;
  const Config::List& sides = value.as_list();
  return Config::List{Config::List{sides[0], sides[1]},
                      Config::List{sides[2], sides[3]}};
}

Config renamed(const KerasLayer& layer) {
  Config config = Config::Object();
  const auto name_of = [&](const std::string& key) {
    for (const Renamed& r : kRenamed) {
      const bool applies =
          r.class_name.empty() || r.class_name == layer.class_name;
      if (applies && key == r.old_name) return std::string(r.name);
    }
    return key;
  };
  for (const auto& [key, value] : layer.config.as_object()) {
    const std::string name = name_of(key);
    // A new name beside the old one says it better.
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
      throw FormatError(
          "dim_ordering: expected 'tf' or 'th', got another value");
    }
    config.set("data_format", first ? "channels_first" : "channels_last");
  }
  return config;
}

void refuse(const Config& config, const char* key, const Config& usual,
            const char* why) {
  const Config* value = config.find(key);
  if (value == nullptr || value->is_null() || *value == usual) return;
  throw UnsupportedError(fmt::format("{}: {}", key, why));
}

}  // namespace

Config modern_config(const KerasLayer& layer) {
  const Config now = renamed(layer);
  Config result = Config::Object();
  for (const auto& [key, value] : now.as_object()) {
    if (is_dropped(key, value)) continue;
    // Null is the default, except where it is a choice of axes.
    if (value.is_null() &&
        (layer.class_name != "Normalization" || key != "axis")) {
      continue;
    }
    if (is_boolean(layer.class_name, key) && value.is_int()) {
      if (value.as_int() != 0 && value.as_int() != 1) {
        throw FormatError(fmt::format("{}: expected true or false, got {}", key,
                                      value.as_int()));
      }
      result.set(key, value.as_int() == 1);
    } else {
      result.set(key, value);
    }
  }
  const auto change = [&](const char* key, auto to) {
    const Config* value = result.find(key);
    if (value != nullptr) result.set(key, Config(to(*value)));
  };
  if (layer.class_name == "ZeroPadding2D") change("padding", pads);
  if (layer.class_name == "Rescaling") {
    change("scale", flat);
    change("offset", flat);
  }
  if (layer.class_name == "Normalization") {
    change("mean", flat);
    change("variance", flat);
  }
  if (layer.class_name == "Softmax") {
    change("axis", [](const Config& axis) {
      const bool one = axis.is_list() && axis.as_list().size() == 1;
      return one ? axis.as_list()[0] : axis;
    });
  }
  if (layer.class_name == "BatchNormalization") {
    refuse(result, "mode", 0,
           "expected 0, got one of Keras 1's other forms of batch "
           "normalization");
    refuse(result, "renorm", false,
           "expected false, got true; Octet has no batch renormalization");
  }
  return result;
}

bool has_channels_first(const Config& config) {
  const Config* format = config.find("data_format");
  if (format == nullptr || format->is_null()) return false;
  const std::string& name = format->as_string();
  if (name != "channels_first" && name != "channels_last") {
    throw FormatError(fmt::format(
        "data_format: expected channels_last or channels_first, got '{}'",
        name));
  }
  return name == "channels_first";
}

bool has_channels_first(const KerasLayer& layer) {
  const Config* order = layer.config.find("dim_ordering");
  if (order != nullptr) return *order == Config("th");
  return has_channels_first(layer.config);
}

}  // namespace octet::io
