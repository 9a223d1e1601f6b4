#include "published_models.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/io/data.h>
#include <octet/io/keras.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/train/evaluate.h>

namespace octet::program {
namespace {

Tensor answers(const Model& model, const Tensor& x) {
  const Tensor y = model.predict(x);
  const auto classes = static_cast<size_t>(y.shape()[-1]);
  Tensor labels({x.shape()[0]}, DType::i64);
  for (size_t i = 0; i < labels.data<int64_t>().size(); ++i) {
    const auto scores = y.f32().subspan(i * classes, classes);
    labels.data<int64_t>()[i] =
        std::ranges::max_element(scores) - scores.begin();
  }
  return labels;
}

// Loads all images, or the test part, with values as stored.
Batch read_images(const std::filesystem::path& images,
                  const std::filesystem::path& labels) {
  io::OpenDataOptions options{
      .labels = labels, .image = Shape{32, 32, 3}, .usual = "none"};
  // open_data() reads bytes of an array only with an explicit mode.
  if (images.extension() == ".npy" &&
      io::read_npy(images).dtype() == DType::u8) {
    options.preprocess = "none";
  }
  const io::OpenedData opened = io::open_data(images, options);
  constexpr size_t kClasses = 10;
  if (!opened.classes.empty() && opened.classes.size() != kClasses) {
    throw ValueError("count_mismatch", images.string(),
                     fmt::format("must have the {} classes of CIFAR-10, got {}",
                                 kClasses, opened.classes.size()));
  }
  const Dataset& data = opened.test ? *opened.test : opened.train;
  return data.batch(0, data.size());
}

}  // namespace

PublishedModel keywords(const std::filesystem::path& folder) {
  const auto inputs = folder / "kws01" / "features_int8_1000x49x10.bin";
  const std::string codes = read_file(inputs);
  const std::string classes =
      read_file(folder / "kws01" / "labels_u8_1000.bin");
  Tensor x({1000, 49, 10, 1}), labels({1000}, DType::i64);
  if (static_cast<int64_t>(codes.size()) != x.size() ||
      static_cast<int64_t>(classes.size()) != labels.size()) {
    throw FormatError("malformed_file", inputs.string(),
                      "must have 1000 inputs of 49x10 bytes and 1000 labels");
  }
  // Input quantization of the published TFLite model.
  for (size_t i = 0; i < codes.size(); ++i) {
    const auto code = static_cast<float>(static_cast<int8_t>(codes[i]));
    x.f32()[i] = (code - 83) * 0.5847029f;
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    labels.data<int64_t>()[i] = static_cast<uint8_t>(classes[i]);
  }
  return {"keywords",
          io::load_keras(folder / "models" / "kws_ref_model_converted.h5"),
          Dataset(x, labels)};
}

PublishedModel pretrained_resnet(const std::filesystem::path& folder,
                                 const std::filesystem::path& images,
                                 const std::filesystem::path& labels) {
  Model model = io::load_keras(folder / "models" / "pretrainedResnet.h5");
  const Batch all = read_images(images, labels);
  const Tensor& x = all.inputs[0];
  if (x.shape().rank() != 4 || x.shape().slice(1, 4) != Shape{32, 32, 3}) {
    throw ShapeError("invalid_shape", images.string(),
                     fmt::format("images must be [n,32,32,3], got {}",
                                 x.shape().to_string()));
  }
  const auto [least, most] = std::ranges::minmax(x.f32());
  if (!(least >= 0 && most <= 255 && most > 1)) {
    throw ValueError(
        "out_of_range", images.string(),
        fmt::format(
            "values must be from 0 to 255, as in training, got {} to {}", least,
            most));
  }
  const Dataset evaluation_data(
      x, all.labels.empty() ? answers(model, x) : all.labels[0]);
  return {"pretrained_resnet", std::move(model), evaluation_data};
}

}  // namespace octet::program
