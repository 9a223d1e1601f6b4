#include "image_options.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/io/preprocess.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

/// The library whose resizing this is, where one has a name for it.
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
  command
      .add("--preprocess", o.preprocess,
           "what bytes become: unit [0,1], none [0,255], and Keras' tf "
           "[-1,1], torch and caffe; MEAN/STD as PyTorch's Normalize, "
           "0.1307/0.3081 or three of each [as the model was trained; else "
           "unit, or none where it divides by itself]")
      .type("MODE");
  command
      .add("--resize", o.resize,
           "filter for images of other sizes: bilinear as Keras' loaders and "
           "tf.image.resize; antialias (bilinear) and bicubic as torchvision "
           "and Pillow; keras-bicubic; nearest [as the model was trained; else "
           "bilinear for a file of Keras, antialias for others]")
      .type("FILTER");
  command
      .add("--crop", o.crop,
           "keep the aspect ratio and crop the center: 256 resizes the shorter "
           "side to 256 pixels first, as torchvision's Resize and CenterCrop; "
           "0.875 by that ratio, as timm's crop_pct; aspect as Keras' "
           "crop_to_aspect_ratio; none stretches [as the model was trained; "
           "else none]")
      .type("SIZE|RATIO|aspect|none");
  command
      .add_with_implicit(
          "--pad", o.pad, "114",
          "keep the aspect ratio and pad both sides with this gray value "
          "(letterbox), 114 as YOLO, 0 as Keras")
      .type("VALUE");
  command
      .add("--class-names", o.class_names,
           "names of the folders in the order of the model's outputs: a file "
           "with a name a line (or JSON, or YOLO's data.yaml), or cat,dog,... "
           "[names in the model's file, else folders sorted by name]")
      .type("FILE|NAMES");
  command.add_flag("--skip-corrupt", o.skip_corrupt,
                   "leave out images that cannot be read, with a warning");
}

io::Resize resize_for(const DataOptions& o, const DataTarget& target) {
  io::Resize resize = io::resize_mode(target.usual_resize);
  if (!o.resize.empty()) {
    const io::Resize asked =
        with_context([] { return "in --resize"; },
                     [&] { return io::resize_mode(o.resize); });
    resize.filter = asked.filter;
    if (asked.fit != io::ImageFit::stretch) resize = asked;
  }
  if (!o.crop.empty() && o.pad) {
    throw ValueError("--crop, --pad: expected one of them, got both");
  }
  const std::string filter = io::to_string(io::Resize{.filter = resize.filter});
  if (o.crop == "none") resize.fit = io::ImageFit::stretch;
  if (!o.crop.empty() && o.crop != "none") {
    resize = with_context(
        [] { return "in --crop"; },
        [&] { return io::resize_mode(filter + " crop " + o.crop); });
  }
  if (o.pad) {
    resize = with_context(
        [] { return "in --pad"; },
        [&] { return io::resize_mode(filter + " pad " + *o.pad); });
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
  warn(fmt::format(
      "--resize, --crop, --pad: images of the model's training are '{}', got "
      "'{}'. Without the options it is as in training",
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
      guessed ? " (the model's file does not say; --preprocess)" : "");
}

}  // namespace octet::program
