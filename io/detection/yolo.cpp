#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/detection.h>
#include <octet/io/image.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/system.h>

namespace octet::io {
namespace {

namespace fs = std::filesystem;

/// Numbers of ignored rows.
struct IgnoredRows {
  int64_t repeated = 0, empty = 0;
};

/// Parser of a label file.
class LabelRows {
 public:
  LabelRows(const fs::path& path, IgnoredRows& ignored)
      : path_(path), ignored_(ignored) {}

  std::vector<train::LabeledBox> read() {
    const std::string text = read_file(path_);
    std::string_view rest = text;
    std::vector<train::LabeledBox> objects;
    std::set<std::vector<double>> seen;
    while (!rest.empty()) {
      const size_t end = std::min(rest.find('\n'), rest.size());
      ++line_;
      const std::vector<double> row = numbers(rest.substr(0, end));
      rest.remove_prefix(std::min(end + 1, rest.size()));
      if (row.empty()) continue;
      const train::LabeledBox object = object_of(row);
      if (object.box.area() <= 0) {
        ++ignored_.empty;
      } else if (!seen.insert(row).second) {
        ++ignored_.repeated;
      } else {
        objects.push_back(object);
      }
    }
    return objects;
  }

 private:
  [[noreturn]] void refuse(const std::string& reason) const {
    throw FormatError("invalid_value",
                      fmt::format("{}, line {}", path_.string(), line_),
                      reason);
  }

  std::vector<double> numbers(std::string_view row) const {
    std::vector<double> result;
    constexpr std::string_view kSpace = " \t\r";
    for (;;) {
      const size_t first = row.find_first_not_of(kSpace);
      if (first == std::string_view::npos) return result;
      row.remove_prefix(first);
      const std::string_view word =
          row.substr(0, std::min(row.find_first_of(kSpace), row.size()));
      double value = 0;
      const auto [end, error] =
          std::from_chars(word.data(), word.data() + word.size(), value);
      if (error != std::errc() || end != word.data() + word.size()) {
        refuse(fmt::format("'{}' is not a number", printable(word, 40)));
      }
      result.push_back(value);
      row.remove_prefix(word.size());
    }
  }

  train::LabeledBox object_of(const std::vector<double>& row) const {
    const bool outline = row.size() >= 7 && row.size() % 2 == 1;
    if (row.size() != 5 && !outline) {
      refuse(
          fmt::format("must have 5 numbers (class, x, y, width, height) or "
                      "a class and at least 3 corners, got {} numbers",
                      row.size()));
    }
    const double label = row[0];
    if (!(label >= 0 && label < 1e6) || label != std::floor(label)) {
      refuse(
          fmt::format("the class must be a whole number >= 0, got {}", label));
    }
    for (size_t i = 1; i < row.size(); ++i) {
      if (row[i] >= 0 && row[i] <= 1) continue;
      refuse(
          fmt::format("coordinates must be fractions of the image, 0 to 1, "
                      "got {}{}",
                      row[i],
                      row[i] > 1 ? ". Hint: divide pixels by the width or "
                                   "height of the image"
                                 : ""));
    }
    return {static_cast<int64_t>(label),
            outline ? around(row)
                    : train::Box{row[1] - row[3] / 2, row[2] - row[4] / 2,
                                 row[1] + row[3] / 2, row[2] + row[4] / 2}};
  }

  /// Returns the box around corners.
  static train::Box around(const std::vector<double>& row) {
    train::Box box{row[1], row[2], row[1], row[2]};
    for (size_t i = 1; i + 1 < row.size(); i += 2) {
      box.left = std::min(box.left, row[i]);
      box.right = std::max(box.right, row[i]);
      box.top = std::min(box.top, row[i + 1]);
      box.bottom = std::max(box.bottom, row[i + 1]);
    }
    return box;
  }

  const fs::path& path_;
  IgnoredRows& ignored_;
  int64_t line_ = 0;  // from 1
};

/// Returns the path with its last folder "images" replaced by "labels"; empty
/// without such a folder.
fs::path labels_beside(const fs::path& images) {
  std::vector<fs::path> parts(images.begin(), images.end());
  const auto last = std::find(parts.rbegin(), parts.rend(), "images");
  if (last == parts.rend()) return {};
  *last = "labels";
  fs::path result;
  for (const fs::path& part : parts) result /= part;
  return result;
}

fs::path labels_folder(const fs::path& images, const fs::path& labels) {
  const fs::path folder = labels.empty() ? labels_beside(images) : labels;
  std::error_code ignored;
  if (folder.empty()) {
    throw FormatError("missing_value", images.string(),
                      "cannot derive the label folder: the path has no folder "
                      "'images'. Hint: pass the label folder");
  }
  if (!fs::is_directory(folder, ignored)) {
    throw IoError("file_not_found", folder.string(), "label folder not found");
  }
  return folder;
}

void warn_of(const IgnoredRows& ignored, const fs::path& labels) {
  if (ignored.repeated > 0) {
    warn("rows_ignored", labels.string(),
         fmt::format("ignored {} repeated rows", ignored.repeated));
  }
  if (ignored.empty > 0) {
    warn("rows_ignored", labels.string(),
         fmt::format("ignored {} boxes without area", ignored.empty));
  }
}

}  // namespace

DetectionSet load_yolo_labels(const fs::path& images, const fs::path& labels) {
  DetectionSet set{.images = list_images(images), .objects = {}};
  const fs::path folder = labels_folder(images, labels);
  IgnoredRows ignored;
  int64_t files = 0;
  for (const fs::path& image : set.images) {
    const fs::path file =
        (folder / fs::relative(image, images)).replace_extension(".txt");
    std::error_code error;
    const bool exists = fs::exists(file, error);
    files += exists;
    set.objects.push_back(exists ? LabelRows(file, ignored).read()
                                 : std::vector<train::LabeledBox>());
  }
  if (files == 0) {
    throw FormatError("missing_value", folder.string(),
                      fmt::format("none of {} images has a label file, as '{}'",
                                  set.images.size(),
                                  fs::relative(set.images[0], images)
                                      .replace_extension(".txt")
                                      .string()));
  }
  warn_of(ignored, folder);
  return set;
}

}  // namespace octet::io
