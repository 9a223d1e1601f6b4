#include "image_model.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <span>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::program {
namespace {

bool is_channels(int64_t size) { return size == 1 || size == 3 || size == 4; }

ImageInput image_input(const Predictor& model, const ModelSource& source) {
  const auto refuse = [&](const std::string& got) {
    throw ValueError(
        "unsupported_model", source.what,
        fmt::format("image files need a model with one image input of 1, 3 or "
                    "4 channels, got {}. Hint: use --input X.npy",
                    got));
  };
  if (model.inputs.size() != 1) {
    refuse(fmt::format("{} inputs", model.inputs.size()));
  }
  const RunnableInput& input = model.inputs[0];
  const Shape shape = input.shape.value_or(Shape());
  if (shape.rank() != 4 || (input.type != "float32" && input.type != "uint8")) {
    refuse(fmt::format("{} {}", input.type, input.text));
  }
  ImageInput image;
  image.bytes = input.type == "uint8";
  // Image inputs of ONNX files are NCHW unless the sizes contradict.
  image.channels_first = is_onnx(source.what) && is_channels(shape[1]);
  const int64_t channels = shape[image.channels_first ? 1 : 3];
  if (!is_channels(channels)) refuse(input.text);
  int64_t h = shape[image.channels_first ? 2 : 1];
  int64_t w = shape[image.channels_first ? 3 : 2];
  const std::vector<Shape> given = input_shapes(source);
  if (h == Shape::kAnySize || w == Shape::kAnySize) {
    if (given.empty() || given[0].rank() != 3 || given[0][2] != channels) {
      throw ValueError("missing_value", source.what,
                       fmt::format("the image size is dynamic, {}. Hint: set "
                                   "the size with --input-shape 224,224,{}",
                                   input.text, channels));
    }
    h = given[0][0];
    w = given[0][1];
  }
  image.shape = {h, w, channels};
  return image;
}

Tensor as_bytes(const Tensor& x) {
  Tensor bytes(x.shape(), DType::u8);
  std::ranges::transform(x.f32(), bytes.data<uint8_t>().begin(), [](float v) {
    return static_cast<uint8_t>(std::clamp(std::round(v), 0.0f, 255.0f));
  });
  return bytes;
}

/// Repeats the rows of x, up to `count` rows.
Tensor filled_up(const Tensor& x, int64_t count) {
  Tensor result(x.shape().with(0, count), x.dtype());
  const auto row = static_cast<size_t>(x.bytes() / x.shape()[0]);
  for (int64_t i = 0; i < count; ++i) {
    std::memcpy(
        static_cast<std::byte*>(result.raw()) + size_t(i) * row,
        static_cast<const std::byte*>(x.raw()) + size_t(i % x.shape()[0]) * row,
        row);
  }
  return result;
}

/// Loads the model without --input-shape, which predictors of ONNX files
/// reject.
Predictor predictor_of(ModelSource source) {
  if (is_onnx(source.what)) source.input_shape.clear();
  return load_predictor(source);
}

}  // namespace

ImageModel::ImageModel(const ModelSource& source)
    : source_(source),
      model_(predictor_of(source)),
      input_(image_input(model_, source)) {}

DataTarget ImageModel::target() const {
  DataTarget target =
      file_target(source_, input_.bytes ? "none" : model_.takes);
  target.image = input_.shape;
  return target;
}

std::string ImageModel::preprocess_mode(const DataOptions& options,
                                        const DataTarget& target) const {
  const std::string mode =
      options.preprocess.empty() ? target.usual : options.preprocess;
  if (input_.bytes && mode != "none") {
    throw ValueError(
        "conflicting_options", "--preprocess",
        fmt::format(
            "must be none, because '{}' expects unscaled bytes, got '{}'",
            source_.what, mode));
  }
  return mode;
}

int64_t ImageModel::batch(int64_t asked) const {
  const int64_t fixed = model_.inputs[0].shape.value()[0];
  if (fixed != Shape::kAnySize) return fixed;
  return asked > 0 ? asked : model_.batch;
}

std::vector<Tensor> ImageModel::predict(const Tensor& images) const {
  const int64_t count = images.shape()[0];
  const int64_t fixed = model_.inputs[0].shape.value()[0];
  Tensor x = images;
  if (input_.channels_first) x = x.transposed({0, 3, 1, 2});
  if (input_.bytes) x = as_bytes(x);
  if (fixed != Shape::kAnySize && count < fixed) x = filled_up(x, fixed);
  std::vector<Tensor> result = model_.predict(std::span(&x, 1));
  for (size_t i = 0; i < result.size(); ++i) {
    const Shape& shape = result[i].shape();
    if (shape.rank() < 1 || shape[0] != x.shape()[0]) {
      throw UnsupportedError(
          "unsupported_model", "predict",
          fmt::format(
              "output '{}' must have a row per image, got {} for {} images",
              model_.outputs[i], shape.to_string(), x.shape()[0]));
    }
    result[i] = result[i].slice(0, count);
  }
  return result;
}

}  // namespace octet::program
