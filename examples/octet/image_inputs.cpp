#include "image_inputs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "../common/program.h"
#include "class_order.h"
#include "image_options.h"
#include "image_results.h"
#include "name_value_args.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

/// Image input of a model.
struct ImageInput {
  Shape shape;  ///< [h,w,c]
  bool channels_first = false;
  bool bytes = false;  ///< u8
};

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

/// Repeats rows until there are `count`.
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

/// Returns all outputs, [n,...] each.
std::vector<Tensor> outputs_of(const Predictor& model, const ImageInput& image,
                               const Dataset& data, int64_t asked) {
  const int64_t fixed = model.inputs[0].shape.value()[0];
  const int64_t batch = fixed != Shape::kAnySize ? fixed
                        : asked > 0              ? asked
                                                 : model.batch;
  std::vector<Tensor> all;
  for (int64_t first = 0; first < data.size(); first += batch) {
    const int64_t count = std::min(batch, data.size() - first);
    Tensor x = data.batch(first, count).input();
    if (image.channels_first) x = x.transposed({0, 3, 1, 2});
    if (image.bytes) x = as_bytes(x);
    if (fixed != Shape::kAnySize && count < fixed) x = filled_up(x, fixed);
    const std::vector<Tensor> part = model.predict(std::span(&x, 1));
    for (size_t i = 0; i < part.size(); ++i) {
      if (part[i].shape().rank() < 1 || part[i].shape()[0] != x.shape()[0]) {
        throw UnsupportedError(
            "unsupported_model", "predict",
            fmt::format(
                "output '{}' must have a row per image, got {} for {} images",
                model.outputs[i], part[i].shape().to_string(), x.shape()[0]));
      }
      if (all.size() <= i) {
        all.emplace_back(part[i].shape().with(0, data.size()), part[i].dtype());
      }
      Tensor rows = all[i].slice(first, count);
      const Tensor found = part[i].slice(0, count);
      if (rows.bytes() != found.bytes()) {
        throw UnsupportedError(
            "unsupported_model", "predict",
            fmt::format("the shape of output '{}' depends on the image. Hint: "
                        "pass a single image",
                        model.outputs[i]));
      }
      std::memcpy(rows.raw(), found.raw(), static_cast<size_t>(rows.bytes()));
    }
  }
  return all;
}

/// Returns the descriptor for the report: standard error if an output is a pipe
/// or device, as in `--output /dev/stdout | ...`.
int report_to(const std::vector<std::string>& outputs) {
  for (const std::string& path : outputs) {
    if (!path.empty() && fs::exists(path) && !fs::is_regular_file(path)) {
      return STDERR_FILENO;
    }
  }
  return STDOUT_FILENO;
}

}  // namespace

bool is_image_path(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return true;
  std::string extension = fs::path(path).extension().string();
  for (char& c : extension) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  constexpr std::array kExtensions = {".png",  ".jpg", ".jpeg", ".bmp",
                                      ".webp", ".tif", ".tiff", ".gif",
                                      ".heic", ".avif"};
  return std::ranges::find(kExtensions, extension) != kExtensions.end();
}

void check_no_image_options(const DataOptions& o) {
  if (o.preprocess.empty() && o.resize.empty() && o.crop.empty() && !o.pad &&
      !o.skip_corrupt) {
    return;
  }
  throw ValueError("conflicting_options",
                   "--preprocess, --resize, --crop, --pad, --skip-corrupt",
                   "apply to image files; .npy files are used unchanged");
}

void predict_images(const ImageRun& run) {
  ModelSource source = run.model;
  // --input-shape is the image size of an ONNX file with dynamic sizes.
  if (is_onnx(source.what)) source.input_shape.clear();
  const Predictor model = load_predictor(source);
  const ImageInput image = image_input(model, run.model);
  const std::vector<std::string> outputs =
      paths_for("--output", run.outputs, model.outputs);
  for (const std::string& output : outputs) {
    if (!output.empty()) check_output(output);
  }
  DataTarget target =
      file_target(run.model, image.bytes ? "none" : model.takes);
  target.image = image.shape;
  const std::string mode =
      run.images.preprocess.empty() ? target.usual : run.images.preprocess;
  if (image.bytes && mode != "none") {
    throw ValueError(
        "conflicting_options", "--preprocess",
        fmt::format(
            "must be none, because '{}' expects unscaled bytes, got '{}'",
            run.model.what, mode));
  }
  target.class_count = -1;
  warn_of_other_resize(run.images, target);
  const io::ImageFiles files = io::load_unlabeled_images(
      io::list_images(run.path),
      {.size = {image.shape[0], image.shape[1]},
       .resize = resize_for(run.images, target),
       .channels = image.shape[2],
       .preprocess = io::preprocess_mode(mode),
       .corrupt = run.images.skip_corrupt ? io::CorruptFiles::skip
                                          : io::CorruptFiles::refuse,
       .shuffle = false});
  const std::vector<std::string> names = class_names_for(run.images, target);
  const int report = report_to(outputs);
  print(fmt::format("{} image{}; preprocessing: {}, {}\n", files.files.size(),
                    files.files.size() == 1 ? "" : "s",
                    resize_text(run.images, target),
                    bytes_text(mode, run.images, target)),
        report);
  const std::vector<Tensor> results =
      outputs_of(model, image, files.data, run.batch);
  const bool any_file = std::ranges::any_of(
      outputs, [](const std::string& path) { return !path.empty(); });
  const auto classes = image_results(files.files, results[0], names);
  if (!classes && !any_file) {
    throw ValueError(
        "missing_value", "--output",
        fmt::format(
            "needs a file: the outputs of '{}', {}, are not class scores",
            run.model.what, results[0].shape().to_string()));
  }
  if (classes) print(results_text(*classes), report);
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].empty()) continue;
    write_results(
        outputs[i],
        i == 0 ? classes : image_results(files.files, results[i], names),
        results[i]);
    print(fmt::format("{}: {}\n", outputs[i], results[i].shape().to_string()),
          report);
  }
}

}  // namespace octet::program
