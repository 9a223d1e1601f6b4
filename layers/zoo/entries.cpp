#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::zoo {
namespace {

const std::vector<Entry>& table() {
  static const Shape imagenet{224, 224, 3};
  static const Shape flat{28, 28};
  static const Shape tiny{32, 32, 3};
  static const std::vector<Entry> entries{
      {"lenet", "LeNet-5 for digits", {28, 28, 1}, 10, 0, 61706, lenet},
      {"resnet8", "MLPerf Tiny image classification", tiny, 10, 0, 78666,
       resnet8},
      {"resnet20", "ResNet-20 for CIFAR", tiny, 10, 0, 274442, resnet20},
      {"ds_cnn",
       "MLPerf Tiny keyword spotting",
       {49, 10, 1},
       12,
       0,
       24908,
       ds_cnn},
      {"densenet40", "DenseNet-BC for CIFAR", tiny, 10, 0, 181210, densenet40},
      {"inception_small", "small Inception for CIFAR", tiny, 10, 1, 1652826,
       inception_small},
      {"mobilenet_v1_025",
       "MLPerf Tiny visual wake words",
       {96, 96, 3},
       2,
       0.25,
       221794,
       mobilenet_v1_025},
      {"unet",
       "small U-Net for segmentation",
       {128, 128, 3},
       2,
       0,
       484162,
       unet},
      {"mobilenet", "MobileNet", imagenet, 1000, 1, 4253864, mobilenet},
      {"mobilenet_v2", "MobileNetV2", imagenet, 1000, 1, 3538984, mobilenet_v2},
      {"efficientnet_b0", "EfficientNet-B0", imagenet, 1000, 1, 5330571,
       efficientnet_b0},
      {"efficientnet_b3",
       "EfficientNet-B3",
       {300, 300, 3},
       1000,
       1.2,
       12320535,
       efficientnet_b3},
      {"vit_tiny", "Vision Transformer, tiny", imagenet, 1000, 1, 5717416,
       vit_tiny},
      {"densenet121", "DenseNet-121", imagenet, 1000, 0, 8062504, densenet121},
      {"resnet18", "ResNet-18", imagenet, 1000, 0, 11699112, resnet18},
      {"inception_v3",
       "InceptionV3",
       {299, 299, 3},
       1000,
       0,
       23851784,
       inception_v3},
      {"resnet50", "ResNet-50", imagenet, 1000, 0, 25636712, resnet50},
      {"resnet50_v2", "ResNet-50 v2", imagenet, 1000, 0, 25613800, resnet50_v2},
      {"resnet101", "ResNet-101", imagenet, 1000, 0, 44707176, resnet101},
      {"resnet101_v2", "ResNet-101 v2", imagenet, 1000, 0, 44675560,
       resnet101_v2},
      {"otho", "placement test: two convolutions", flat, 0, 0, 58, otho},
      {"lotho", "placement test: depthwise", flat, 0, 0, 20, lotho},
      {"lobelia", "placement test: dense layers", flat, 10, 0, 79510, lobelia},
      {"bilbo", "placement test: consecutive convolutions", flat, 10, 1,
       1598792, bilbo},
      {"frodo", "placement test: residual blocks", tiny, 10, 0, 41310, frodo},
      {"sam", "placement test: more residual blocks", tiny, 10, 0, 142530, sam},
      {"merry", "placement test: inception block", flat, 10, 0, 528226, merry},
      {"pippin", "placement test: normalized residual blocks", flat, 10, 0,
       106422, pippin},
  };
  return entries;
}

}  // namespace

std::span<const Entry> entries() { return table(); }

const Entry& entry(std::string_view name) {
  std::vector<std::string> names;
  for (const Entry& known : table()) {
    if (known.name == name) return known;
    names.emplace_back(known.name);
  }
  for (const Entry& known : table()) {
    if (fold_name(known.name) == fold_name(name)) return known;
  }
  throw NotFoundError(
      "unknown_name", "zoo",
      fmt::format("unknown network '{}'{}", name, suggest_names(name, names)));
}

Model make(std::string_view name, const Options& options) {
  return entry(name).make(options);
}

}  // namespace octet::zoo
