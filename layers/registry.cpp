#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/registry.h>
#include <octet/runtime/error.h>

#include "layer_table.h"

namespace octet {
namespace {

std::vector<const LayerDef*>& user_defs() {
  static std::vector<const LayerDef*> defs;
  return defs;
}

// Sources: keras_export of the layers' classes in Keras 2 and 3;
// keras/legacy/layers.py of Keras 2.2; tensorflow/python/keras/layers of 1.13.
constexpr std::pair<std::string_view, std::string_view> kAliases[] = {
    {"AtrousConvolution2D", "Conv2D"},
    {"AvgPool2D", "AveragePooling2D"},
    {"BatchNormalizationV1", "BatchNormalization"},
    {"BatchNormalizationV2", "BatchNormalization"},
    {"Convolution2D", "Conv2D"},
    {"Convolution2DTranspose", "Conv2DTranspose"},
    {"Deconvolution2D", "Conv2DTranspose"},
    {"GlobalAvgPool2D", "GlobalAveragePooling2D"},
    {"GlobalMaxPool2D", "GlobalMaxPooling2D"},
    {"MaxPool2D", "MaxPooling2D"},
    {"SeparableConvolution2D", "SeparableConv2D"},
    {"SyncBatchNormalization", "BatchNormalization"},
};

}  // namespace

std::string_view canonical_class_name(std::string_view name) {
  if (const size_t package = name.rfind('>'); package != name.npos) {
    name.remove_prefix(package + 1);
  }
  for (const auto& [alias, canonical] : kAliases) {
    if (name == alias) return canonical;
  }
  return name;
}

const LayerDef* find_layer_def(std::string_view class_name) {
  const std::string_view canonical = canonical_class_name(class_name);
  const auto is_it = [&](const LayerDef* def) {
    return def->class_name == canonical;
  };
  const auto built_in = built_in_layer_defs();
  const auto own = std::ranges::find_if(built_in, is_it);
  if (own != built_in.end()) return *own;
  const auto user = std::ranges::find_if(user_defs(), is_it);
  return user != user_defs().end() ? *user : nullptr;
}

std::vector<const LayerDef*> layer_defs() {
  const auto built_in = built_in_layer_defs();
  std::vector<const LayerDef*> defs(built_in.begin(), built_in.end());
  std::ranges::sort(defs, {}, &LayerDef::class_name);
  std::vector<const LayerDef*> users = user_defs();
  std::ranges::sort(users, {}, &LayerDef::class_name);
  defs.insert(defs.end(), users.begin(), users.end());
  return defs;
}

void register_layer(const LayerDef& def) {
  if (find_layer_def(def.class_name) != nullptr) {
    throw ValueError(
        fmt::format("register_layer: expected a new class, got "
                    "'{}', which exists",
                    def.class_name));
  }
  user_defs().push_back(&def);
}

std::shared_ptr<Layer> create_layer(std::string_view class_name,
                                    const Config& config) {
  const LayerDef* def = find_layer_def(class_name);
  if (def == nullptr) {
    std::string known;
    for (const LayerDef* each : layer_defs()) {
      known += fmt::format("{}{}", known.empty() ? "" : ", ", each->class_name);
    }
    throw UnsupportedError(fmt::format(
        "layer class: expected one of {}, got '{}'; register_layer adds your "
        "own",
        known, class_name));
  }
  return with_context(
      [&] { return fmt::format("in the configuration of {}", class_name); },
      [&] { return def->create(config); });
}

}  // namespace octet
