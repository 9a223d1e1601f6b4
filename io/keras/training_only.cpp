#include "keras/training_only.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

// Source: keras/src/layers/preprocessing/image_preprocessing of Keras 3.15, and
// keras/layers/preprocessing of Keras 2 for RandomHeight and RandomWidth:
// identity in inference. (AutoContrast is not.)
constexpr std::string_view kAugmentations[] = {
    "AugMix",
    "CutMix",
    "Equalization",
    "MixUp",
    "RandAugment",
    "RandomBrightness",
    "RandomColorDegeneration",
    "RandomColorJitter",
    "RandomContrast",
    "RandomElasticTransform",
    "RandomErasing",
    "RandomFlip",
    "RandomGaussianBlur",
    "RandomGrayscale",
    "RandomHeight",
    "RandomHue",
    "RandomInvert",
    "RandomPerspective",
    "RandomPosterization",
    "RandomRotation",
    "RandomSaturation",
    "RandomSharpness",
    "RandomShear",
    "RandomTranslation",
    "RandomWidth",
    "RandomZoom",
    "Solarization",
};
constexpr std::string_view kRandomCrop = "RandomCrop";

bool is_set(const Config& value) {
  return !value.is_null() && value != Config(false) &&
         !(value.is_number() && value.as_number() == 0);
}

bool is_training_only(std::string_view key) {
  return key == "renorm" || key == "virtual_batch_size" ||
         key == "recurrent_dropout" || key == "activity_regularizer" ||
         key.ends_with("_constraint");
}

}  // namespace

bool is_augmentation(std::string_view class_name) {
  return std::ranges::find(kAugmentations, class_name) !=
         std::end(kAugmentations);
}

bool ignores_training(std::string_view class_name) {
  return is_augmentation(class_name) || class_name == kRandomCrop ||
         class_name == "Resizing" || class_name == "CenterCrop";
}

void warn_of_training_only(const KerasGraph& graph, const std::string& file) {
  std::vector<std::string> dropped, cropping, options;
  for_each_layer(graph, [&](const KerasLayer& layer) {
    if (is_augmentation(layer.class_name)) dropped.push_back(text_of(layer));
    if (layer.class_name == kRandomCrop) cropping.push_back(text_of(layer));
    if (layer.class_name == "SpectralNormalization") {
      options.push_back(text_of(layer));
    }
    if (!layer.config.is_object()) return;
    for (const auto& [key, value] : layer.config.as_object()) {
      if (!is_training_only(key) || !is_set(value)) continue;
      options.push_back(
          fmt::format("{} of {}", printable(key), text_of(layer)));
    }
  });
  constexpr std::string_view kHint =
      "Hint: to augment in training, pass fit() a loader with a "
      "train::Augmentation, or use octet train --augment";
  const std::string name = printable(file);
  if (!dropped.empty()) {
    warn("layers_ignored", name,
         fmt::format("ignored {}, which act in training only. {}",
                     listed(dropped), kHint));
  }
  if (!cropping.empty()) {
    warn("layer_replaced", name,
         fmt::format("{} became a Resizing of the center of the image, as in "
                     "inference of Keras 2, also in training. {}",
                     listed(cropping), kHint));
  }
  if (!options.empty()) {
    warn("layers_ignored", name,
         fmt::format(
             "ignored {}, which affect training only; outputs are the same",
             listed(options)));
  }
}

void drop_training_statistics(std::vector<StoredWeight>& weights) {
  const auto is_leaf = [](const StoredWeight& weight, std::string_view name) {
    return weight.path.back() == name;
  };
  std::erase_if(weights, [&](const StoredWeight& each) {
    return is_leaf(each, "vector_u");  // of SpectralNormalization
  });
  const auto has = [&](std::string_view name) {
    return std::ranges::any_of(
        weights, [&](const StoredWeight& each) { return is_leaf(each, name); });
  };
  if (!has("moving_mean") || !has("moving_variance")) return;
  const bool renorm = has("moving_stddev");
  std::erase_if(weights, [&](const StoredWeight& each) {
    // Without the prefix in a layer with the name "renorm".
    return is_leaf(each, "renorm_mean") || is_leaf(each, "renorm_stddev") ||
           is_leaf(each, "moving_stddev") ||
           (renorm && (is_leaf(each, "mean") || is_leaf(each, "stddev")));
  });
}

}  // namespace octet::io
