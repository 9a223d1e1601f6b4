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
#include "image_model.h"
#include "image_options.h"
#include "image_results.h"
#include "name_value_args.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

/// Returns all outputs, [n,...] each.
std::vector<Tensor> outputs_of(const ImageModel& model, const Dataset& data,
                               int64_t asked) {
  const int64_t batch = model.batch(asked);
  std::vector<Tensor> all;
  for (int64_t first = 0; first < data.size(); first += batch) {
    const int64_t count = std::min(batch, data.size() - first);
    const std::vector<Tensor> part =
        model.predict(data.batch(first, count).input());
    for (size_t i = 0; i < part.size(); ++i) {
      if (all.size() <= i) {
        all.emplace_back(part[i].shape().with(0, data.size()), part[i].dtype());
      }
      Tensor rows = all[i].slice(first, count);
      if (rows.bytes() != part[i].bytes()) {
        throw UnsupportedError(
            "unsupported_model", "predict",
            fmt::format("the shape of output '{}' depends on the image. Hint: "
                        "pass a single image",
                        model.outputs()[i]));
      }
      std::memcpy(rows.raw(), part[i].raw(), static_cast<size_t>(rows.bytes()));
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
  const ImageModel model(run.model);
  const std::vector<std::string> outputs =
      paths_for("--output", run.outputs, model.outputs());
  for (const std::string& output : outputs) {
    if (!output.empty()) check_output(output);
  }
  DataTarget target = model.target();
  const std::string mode = model.preprocess_mode(run.images, target);
  target.class_count = -1;
  warn_of_other_resize(run.images, target);
  const io::ImageFiles files = io::load_unlabeled_images(
      io::list_images(run.path),
      {.size = {target.image[0], target.image[1]},
       .resize = resize_for(run.images, target),
       .channels = target.image[2],
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
  const std::vector<Tensor> results = outputs_of(model, files.data, run.batch);
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
