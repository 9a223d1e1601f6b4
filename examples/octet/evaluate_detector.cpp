#include "evaluate_detector.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/io/detection.h>
#include <octet/io/image.h>
#include <octet/io/json.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>
#include <octet/train/detection.h>

#include "../common/program.h"
#include "class_order.h"
#include "image_model.h"
#include "image_options.h"

namespace octet::program {
namespace {

namespace fs = std::filesystem;

/// YOLO's letterbox.
constexpr const char* kLetterbox = "bilinear pad 114";

const std::string& single(const char* option,
                          const std::vector<std::string>& paths) {
  if (paths.size() != 1) {
    throw ValueError("missing_value", option,
                     fmt::format("needs one path for --task detection, got {}",
                                 paths.size()));
  }
  return paths[0];
}

io::DetectionSet load_set(const DataOptions& data) {
  const fs::path images = single("--data", data.paths);
  if (images.extension() == ".yaml" || images.extension() == ".yml") {
    throw ValueError("unsupported_format", "--data",
                     fmt::format("must be a folder of images, got '{}'. Hint: "
                                 "--data IMAGES --labels LABELS --class-names "
                                 "{}",
                                 images.string(), images.string()));
  }
  if (data.labels.empty()) return io::load_yolo_labels(images);
  const fs::path labels = single("--labels", data.labels);
  return labels.extension() == ".json" ? io::load_coco_labels(images, labels)
                                       : io::load_yolo_labels(images, labels);
}

/// Input preprocessing of images.
struct Preparation {
  Size2 size;
  int64_t channels;
  io::Resize resize;
  io::Preprocess preprocess;
};

/// A preprocessed image, and the mapping from the input to its pixels.
struct PreparedImage {
  Tensor x;  // [1,h,w,c]
  Size2 size;
  io::ImagePlacement placement;

  train::Box in_image(const train::Box& box) const {
    const auto w = static_cast<double>(size.w), h = static_cast<double>(size.h);
    const auto x_of = [&](double v) {
      return std::clamp((v - placement.left) / placement.scale_x, 0.0, w);
    };
    const auto y_of = [&](double v) {
      return std::clamp((v - placement.top) / placement.scale_y, 0.0, h);
    };
    return {x_of(box.left), y_of(box.top), x_of(box.right), y_of(box.bottom)};
  }
};

PreparedImage prepared(const fs::path& path, const Preparation& by) {
  const Tensor image = io::read_image(path, by.channels);
  const Size2 size = {image.shape()[0], image.shape()[1]};
  const Tensor resized = io::resize_image(image, by.size, by.resize);
  const Tensor x = io::preprocess_input(resized, by.preprocess);
  return {x.reshaped({1, by.size.h, by.size.w, by.channels}), size,
          io::image_placement(size, by.size, by.resize)};
}

/// Numbers the classes of a label file by names in the order of the outputs.
/// Throws: ValueError for an object of a class without such a name.
void number_by_names(io::DetectionSet& set,
                     const std::vector<std::string>& names) {
  const auto output_of = [&](int64_t category) {
    const std::string& name = set.classes[static_cast<size_t>(category)];
    const auto found = std::ranges::find(names, name);
    if (found != names.end()) return found - names.begin();
    throw ValueError(
        "unknown_name", "--labels",
        fmt::format("category '{}' is none of the model's {}. Hint: list the "
                    "names of the label file in the order of the outputs: "
                    "--class-names A,B",
                    printable(name, 40), few_classes(names)));
  };
  for (std::vector<train::LabeledBox>& objects : set.objects) {
    for (train::LabeledBox& o : objects) o.label = output_of(o.label);
  }
}

/// Returns the number of classes of an output with a known head. Outputs have
/// more boxes than values.
int64_t classes_of(const Shape& shape, train::DetectorHead head) {
  if (shape.rank() != 3) return 1;
  const int64_t values = std::min(shape[1], shape[2]);
  return std::max<int64_t>(
      values - (head == train::DetectorHead::yolov8 ? 4 : 5), 1);
}

class DetectorRun {
 public:
  explicit DetectorRun(const DetectorEvaluation& e)
      : e_(e), model_(e.model), set_(load_set(e.data)) {
    target_ = model_.target();
    target_.class_count = -1;
    if (!target_.resize_is_stored) target_.usual_resize = kLetterbox;
    mode_ = model_.preprocess_mode(e.data, target_);
    names_ = class_names_for(e.data, target_);
    if (names_.empty()) names_ = set_.classes;
    if (!set_.classes.empty()) number_by_names(set_, names_);
    by_ = {.size = {target_.image[0], target_.image[1]},
           .channels = target_.image[2],
           .resize = resize_for(e.data, target_),
           .preprocess = io::preprocess_mode(mode_)};
    if (by_.resize.fit == io::ImageFit::crop ||
        by_.resize.fit == io::ImageFit::center_crop) {
      throw ValueError("conflicting_options", "--crop",
                       "objects outside of the crop would count as missed. "
                       "Hint: use --pad, or --crop none");
    }
  }

  void run() {
    std::vector<std::vector<train::Detection>> found;
    std::vector<std::vector<train::LabeledBox>> objects;
    ProgressLine progress("detect", std::ssize(set_.images));
    for (size_t i = 0; i < set_.images.size(); ++i) {
      const PreparedImage image = prepared(set_.images[i], by_);
      found.push_back(detect(image));
      objects.push_back(in_pixels(set_.objects[i], image.size));
      check_labels(i);
      progress.advance(1);
    }
    report(train::detection_scores(found, objects, classes_), objects);
  }

 private:
  std::vector<train::Detection> detect(const PreparedImage& image) {
    const Tensor y = model_.predict(image.x)[0];
    if (!layout_) find_layout(y.shape());
    std::vector<train::Detection> found =
        train::detections_of(y, *layout_, e_.score)[0];
    for (train::Detection& d : found) d.box = image.in_image(d.box);
    const bool final = layout_->head == train::DetectorHead::end_to_end;
    return train::suppress(
        std::move(found),
        {.score = e_.score, .overlap = final ? 1 : e_.overlap});
  }

  void find_layout(const Shape& shape) {
    std::optional<train::DetectorHead> head;
    if (!e_.head.empty()) head = train::detector_head(e_.head);
    classes_ = std::ssize(names_);
    const bool named = head && *head != train::DetectorHead::end_to_end;
    if (classes_ == 0 && named) classes_ = classes_of(shape, *head);
    if (classes_ == 0) {
      throw ValueError("missing_value", "--class-names",
                       "the number of classes is unknown. Hint: --class-names "
                       "data.yaml");
    }
    layout_ = train::detector_output(shape, classes_, head);
  }

  static std::vector<train::LabeledBox> in_pixels(
      std::vector<train::LabeledBox> objects, Size2 size) {
    const auto w = static_cast<double>(size.w), h = static_cast<double>(size.h);
    for (train::LabeledBox& o : objects) {
      o.box = {o.box.left * w, o.box.top * h, o.box.right * w,
               o.box.bottom * h};
    }
    return objects;
  }

  void check_labels(size_t image) const {
    for (const train::LabeledBox& o : set_.objects[image]) {
      if (o.label < classes_) continue;
      throw FormatError(
          "out_of_range", set_.images[image].string(),
          fmt::format("has an object of class {}, but there are {} classes",
                      o.label, classes_));
    }
  }

  std::string name_of(size_t label) const {
    return label < names_.size() ? printable(names_[label], 40)
                                 : fmt::format("{}", label);
  }

  void report(
      const train::DetectionScores& scores,
      const std::vector<std::vector<train::LabeledBox>>& objects) const {
    int64_t count = 0;
    for (const train::ClassPrecision& c : scores.classes) count += c.objects;
    if (e_.json) {
      print(io::to_json(to_config(scores)) + "\n");
      return;
    }
    print(fmt::format(
        "{} images, {} objects of {} classes; preprocessing: {}, {}\n\n",
        objects.size(), count, classes_, resize_text(e_.data, target_),
        bytes_text(mode_, e_.data, target_)));
    TextTable table({Align::left, Align::right, Align::right, Align::right,
                     Align::right, Align::right});
    table.add_row({"class", "images", "objects", "AP50-95", "AP50", "AP75"});
    const auto percent = [](double share) {
      return fmt::format("{:.2f} %", 100 * share);
    };
    table.add_row({"all", fmt::format("{}", objects.size()),
                   fmt::format("{}", count), percent(scores.average),
                   percent(scores.at_50), percent(scores.at_75)});
    for (size_t k = 0; k < scores.classes.size(); ++k) {
      const train::ClassPrecision& c = scores.classes[k];
      if (c.objects == 0) continue;
      table.add_row({name_of(k), fmt::format("{}", c.images),
                     fmt::format("{}", c.objects), percent(c.average),
                     percent(c.at_50), percent(c.at_75)});
    }
    print(table.to_string());
    print(fmt::format("\nrecall {}\n", percent(scores.recall)));
  }

  Config to_config(const train::DetectionScores& scores) const {
    Config config;
    config.set("model", e_.model.what)
        .set("images", std::ssize(set_.images))
        .set("map50_95", scores.average)
        .set("map50", scores.at_50)
        .set("map75", scores.at_75)
        .set("recall", scores.recall);
    Config::List classes;
    for (size_t k = 0; k < scores.classes.size(); ++k) {
      const train::ClassPrecision& c = scores.classes[k];
      Config entry;
      entry.set("name", name_of(k))
          .set("images", c.images)
          .set("objects", c.objects)
          .set("ap50_95", c.average)
          .set("ap50", c.at_50)
          .set("ap75", c.at_75);
      classes.push_back(std::move(entry));
    }
    return config.set("classes", std::move(classes));
  }

  const DetectorEvaluation& e_;
  ImageModel model_;
  io::DetectionSet set_;
  DataTarget target_;
  std::string mode_;
  std::vector<std::string> names_;
  Preparation by_;
  std::optional<train::DetectorOutput> layout_;
  int64_t classes_ = 0;
};

}  // namespace

void evaluate_detector(const DetectorEvaluation& evaluation) {
  DetectorRun(evaluation).run();
}

}  // namespace octet::program
