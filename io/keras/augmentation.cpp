#include "keras/augmentation.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "keras/names.h"
#include "printable.h"

namespace octet::io {
namespace {

// Source: keras/src/layers/preprocessing/image_preprocessing of Keras 3.15, and
// keras/layers/preprocessing of Keras 2 for RandomHeight and RandomWidth:
// identity in inference. (AutoContrast is not.)
constexpr std::string_view kClasses[] = {
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

struct Found {
  std::vector<std::string> dropped, cropping;

  void add(const KerasGraph& graph) {
    for (const KerasLayer& layer : graph.layers) {
      if (layer.graph != nullptr) add(*layer.graph);
      if (is_augmentation(layer.class_name)) dropped.push_back(text_of(layer));
      if (layer.class_name == kRandomCrop) cropping.push_back(text_of(layer));
    }
  }
};

}  // namespace

bool is_augmentation(std::string_view class_name) {
  return std::ranges::find(kClasses, class_name) != std::end(kClasses);
}

bool ignores_training(std::string_view class_name) {
  return is_augmentation(class_name) || class_name == kRandomCrop ||
         class_name == "Resizing" || class_name == "CenterCrop";
}

void warn_of_augmentation(const KerasGraph& graph, const std::string& file) {
  Found found;
  found.add(graph);
  constexpr std::string_view kCure =
      "Hint: to augment in training, pass fit() a loader with a "
      "train::Augmentation, or use octet train --augment";
  if (!found.dropped.empty()) {
    warn("layers_ignored", printable(file),
         fmt::format("ignored {}, which act in training only. {}",
                     listed(found.dropped), kCure));
  }
  if (!found.cropping.empty()) {
    warn("layer_replaced", printable(file),
         fmt::format("{} became a Resizing of the center of the image, as in "
                     "inference of Keras 2, also in training. {}",
                     listed(found.cropping), kCure));
  }
}

}  // namespace octet::io
