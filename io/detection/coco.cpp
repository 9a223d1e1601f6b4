#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include <octet/io/detection.h>
#include <octet/io/json.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

struct CocoImage {
  fs::path path;
  double width, height;
  std::vector<train::LabeledBox> objects = {};
};

/// Parser of an "instances" file.
class CocoFile {
 public:
  CocoFile(const fs::path& images, const fs::path& json)
      : folder_(images), path_(json) {}

  DetectionSet read() {
    const Config root =
        with_context([&] { return fmt::format("in '{}'", path_.string()); },
                     [&] { return from_json(read_file(path_)); });
    read_categories(list(root, "categories"));
    read_images(list(root, "images"));
    for (const Config& entry : list(root, "annotations")) read_object(entry);
    if (empty_ > 0) {
      warn("rows_ignored", path_.string(),
           fmt::format("ignored {} boxes without area", empty_));
    }
    return result();
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError("invalid_value", path_.string(), reason);
  }

  const Config::List& list(const Config& root, std::string_view name) const {
    const Config* found = root.is_object() ? root.find(name) : nullptr;
    if (found == nullptr || !found->is_list()) {
      refuse(fmt::format("must have a list \"{}\", as COCO's instances files",
                         name));
    }
    return found->as_list();
  }

  int64_t integer(const Config& entry, std::string_view name,
                  std::string_view of) const {
    const Config* found = entry.is_object() ? entry.find(name) : nullptr;
    if (found == nullptr || !found->is_int()) {
      refuse(fmt::format("an entry of \"{}\" has no integer \"{}\"", of, name));
    }
    return found->as_int();
  }

  std::string text(const Config& entry, std::string_view name,
                   std::string_view of) const {
    const Config* found = entry.find(name);
    if (found == nullptr || !found->is_string()) {
      refuse(fmt::format("an entry of \"{}\" has no text \"{}\"", of, name));
    }
    return found->as_string();
  }

  void read_categories(const Config::List& entries) {
    std::map<int64_t, std::string> names;
    for (const Config& entry : entries) {
      const int64_t id = integer(entry, "id", "categories");
      if (!names.emplace(id, text(entry, "name", "categories")).second) {
        refuse(fmt::format("category {} exists twice", id));
      }
    }
    for (const auto& [id, name] : names) {
      labels_[id] = std::ssize(classes_);
      classes_.push_back(name);
    }
    if (classes_.empty()) refuse("has no categories");
  }

  void read_images(const Config::List& entries) {
    for (const Config& entry : entries) {
      const int64_t id = integer(entry, "id", "images");
      const int64_t width = integer(entry, "width", "images");
      const int64_t height = integer(entry, "height", "images");
      const fs::path path = folder_ / text(entry, "file_name", "images");
      if (width < 1 || height < 1) {
        refuse(fmt::format("image {} has {}x{} pixels", id, width, height));
      }
      std::error_code ignored;
      if (!fs::exists(path, ignored)) {
        throw IoError(
            "file_not_found", path.string(),
            fmt::format("image {} of '{}' not found", id, path_.string()));
      }
      const CocoImage image{path, static_cast<double>(width),
                            static_cast<double>(height)};
      if (!images_.emplace(id, image).second) {
        refuse(fmt::format("image {} exists twice", id));
      }
    }
    if (images_.empty()) refuse("has no images");
  }

  void read_object(const Config& entry) {
    const int64_t id = integer(entry, "id", "annotations");
    const auto image = images_.find(integer(entry, "image_id", "annotations"));
    const auto label =
        labels_.find(integer(entry, "category_id", "annotations"));
    if (image == images_.end() || label == labels_.end()) {
      refuse(fmt::format("annotation {} has an unknown {}", id,
                         image == images_.end() ? "image" : "category"));
    }
    const Config* crowd = entry.find("iscrowd");
    const train::Box box = box_of(entry, id);
    CocoImage& to = image->second;
    if (box.area() <= 0) {
      ++empty_;
      return;
    }
    if (box.left >= to.width || box.top >= to.height || box.right <= 0 ||
        box.bottom <= 0) {
      refuse(
          fmt::format("the box of annotation {} is outside of its image, "
                      "{}x{} pixels",
                      id, to.width, to.height));
    }
    to.objects.push_back(
        {label->second,
         {box.left / to.width, box.top / to.height, box.right / to.width,
          box.bottom / to.height},
         crowd != nullptr && crowd->is_int() && crowd->as_int() != 0});
  }

  train::Box box_of(const Config& entry, int64_t id) const {
    const Config* found = entry.find("bbox");
    std::vector<double> values;
    if (found != nullptr && found->is_list()) {
      for (const Config& value : found->as_list()) {
        if (value.is_number()) values.push_back(value.as_number());
      }
    }
    const bool valid =
        values.size() == 4 && found->as_list().size() == 4 &&
        std::ranges::all_of(values, [](double v) { return std::isfinite(v); });
    if (!valid || values[2] < 0 || values[3] < 0) {
      refuse(
          fmt::format("annotation {} must have a \"bbox\" of left, top, "
                      "width and height",
                      id));
    }
    return {values[0], values[1], values[0] + values[2], values[1] + values[3]};
  }

  DetectionSet result() {
    std::vector<CocoImage> images;
    for (auto& [id, image] : images_) images.push_back(std::move(image));
    std::ranges::sort(images, {}, &CocoImage::path);
    DetectionSet set{.images = {}, .objects = {}, .classes = classes_};
    for (CocoImage& image : images) {
      set.images.push_back(std::move(image.path));
      set.objects.push_back(std::move(image.objects));
    }
    return set;
  }

  const fs::path& folder_;
  const fs::path& path_;
  std::vector<std::string> classes_;
  std::map<int64_t, int64_t> labels_;  // by category id
  std::map<int64_t, CocoImage> images_;
  int64_t empty_ = 0;
};

}  // namespace

DetectionSet load_coco_labels(const fs::path& images, const fs::path& json) {
  return CocoFile(images, json).read();
}

}  // namespace octet::io
