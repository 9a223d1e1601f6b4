#include "image_options.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "choice.h"

namespace octet::program {
namespace {

/// Returns " as LIBRARY" for filters named after a library.
std::string_view library_of(io::ResizeFilter filter) {
  switch (filter) {
    case io::ResizeFilter::bilinear:
      return " as Keras";
    case io::ResizeFilter::antialias:
      return " as torchvision";
    default:
      return "";
  }
}

}  // namespace

void add_image_options(Command& command, DataOptions& o) {
  command.begin_group("Images");
  command
      .add("--preprocess", o.preprocess,
           "input preprocessing: unit, none, tf, torch, caffe or MEAN/STD "
           "(default: as in training, else unit)")
      .type("MODE");
  command
      .add("--resize", o.resize,
           "resize filter: bilinear, antialias, bicubic, keras-bicubic or "
           "nearest (default: as in training)")
      .type("FILTER");
  command
      .add("--crop", o.crop,
           "center crop that preserves the aspect ratio (default: as in "
           "training, "
           "else none)")
      .type("SIZE|RATIO|aspect|none");
  command
      .add_with_implicit(
          "--pad", o.pad, "114",
          "preserve the aspect ratio and pad with this gray value "
          "(letterbox); --pad alone: 114, as YOLO (Keras: 0)")
      .type("VALUE");
  command
      .add("--class-names", o.class_names,
           "class names in output order (default: names in the model file, "
           "else sorted folder names)")
      .type("FILE|NAMES");
  command.add_flag("--skip-corrupt", o.skip_corrupt,
                   "skip unreadable images, with a warning");
}

io::Resize resize_for(const DataOptions& o, const DataTarget& target) {
  io::Resize resize = io::resize_mode(target.usual_resize);
  if (!o.resize.empty()) {
    const io::Resize asked =
        as_option("--resize", [&] { return io::resize_mode(o.resize); });
    resize.filter = asked.filter;
    if (asked.fit != io::ImageFit::stretch) resize = asked;
  }
  if (!o.crop.empty() && o.pad) {
    throw ValueError("conflicting_options", "--crop, --pad",
                     "cannot be combined");
  }
  const std::string filter = io::to_string(io::Resize{.filter = resize.filter});
  if (o.crop == "none") resize.fit = io::ImageFit::stretch;
  if (!o.crop.empty() && o.crop != "none") {
    resize = as_option(
        "--crop", [&] { return io::resize_mode(filter + " crop " + o.crop); });
  }
  if (o.pad) {
    resize = as_option(
        "--pad", [&] { return io::resize_mode(filter + " pad " + *o.pad); });
  }
  if (target.image.rank() == 3) {
    io::check_resize("--crop", {target.image[0], target.image[1]}, resize);
  }
  return resize;
}

void warn_of_other_resize(const DataOptions& o, const DataTarget& target) {
  if (!target.resize_is_stored) return;
  const io::Resize resize = resize_for(o, target);
  if (resize == io::resize_mode(target.trained_resize)) return;
  warn("preprocessing_differs", "--resize, --crop, --pad",
       fmt::format(
           "the model file specifies '{}', got '{}'. Hint: omit the options "
           "to resize as in training",
           target.trained_resize, io::to_string(resize)));
}

std::string resize_text(const DataOptions& o, const DataTarget& target) {
  const io::Resize resize = resize_for(o, target);
  const std::string text = io::to_string(resize);
  const size_t end = std::min(text.find(' '), text.size());
  return fmt::format("resize {}{}{}{}", text.substr(0, end),
                     library_of(resize.filter), end < text.size() ? "," : "",
                     text.substr(end));
}

std::string bytes_text(const std::string& mode, const DataOptions& o,
                       const DataTarget& target) {
  const bool guessed = o.preprocess.empty() && target.takes.empty();
  return fmt::format(
      "bytes as '{}'{}", mode,
      guessed ? " (assumed: the model file has no mode; set --preprocess)"
              : "");
}

}  // namespace octet::program
