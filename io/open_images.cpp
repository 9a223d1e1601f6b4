#include "open_images.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/io/image.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "images/image_files.h"
#include "open_arrays.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr std::array kTestFolders = {"test", "validation", "valid", "val"};

ImageOptions image_options(const fs::path& path,
                           const OpenDataOptions& options) {
  const Shape& shape = options.image;
  if (shape.rank() != 3 || (shape[2] != 1 && shape[2] != 3 && shape[2] != 4)) {
    throw ShapeError(
        "invalid_shape", path.string(),
        fmt::format(
            "images need a model input [h,w,c] with 1, 3 or 4 channels, got {}",
            shape.rank() == 0 ? "none" : shape.to_string()));
  }
  constexpr int64_t kCache = int64_t{1} << 30;
  return {
      .size = {shape[0], shape[1]},
      .resize = options.resize,
      .channels = shape[2],
      .preprocess = preprocess_mode(options.preprocess.value_or(options.usual)),
      .corrupt = options.corrupt,
      .cache_bytes = kCache,
      .class_names = options.class_names};
}

fs::path test_folder_of(const fs::path& folder) {
  if (!is_folder(folder / "train")) return {};
  fs::path found;
  for (const char* name : kTestFolders) {
    if (!is_folder(folder / name)) continue;
    if (found.empty()) {
      found = folder / name;
      continue;
    }
    warn("files_ignored", folder.string(),
         fmt::format("uses '{}' as test data beside 'train' and ignores '{}'",
                     found.filename().string(), name));
  }
  return found;
}

bool holds_images(const fs::path& folder) {
  return std::ranges::any_of(folder_entries(folder), [](const auto& entry) {
    return is_image_file(entry);
  });
}

std::vector<fs::path> folders_in(const fs::path& folder) {
  std::vector<fs::path> folders;
  for (const auto& entry : folder_entries(folder)) {
    if (is_folder(entry.path())) folders.push_back(entry.path());
  }
  return folders;
}

std::vector<std::string> names_of(const std::vector<fs::path>& paths) {
  std::vector<std::string> names;
  for (const fs::path& path : paths) names.push_back(path.filename().string());
  return names;
}

// ---- with classes

OpenedData open_classes(const fs::path& folder,
                        const OpenDataOptions& options) {
  const ImageOptions images = image_options(folder, options);
  const fs::path test_folder = test_folder_of(folder);
  const fs::path train_folder = test_folder.empty() ? folder : folder / "train";
  ImageFolder train = load_image_folder(train_folder, images);
  OpenedData opened{.kind = "a folder of images",
                    .train = std::move(train.data),
                    .classes = std::move(train.classes),
                    .folders = names_of(folders_in(train_folder))};
  for (const fs::path& file : train.files) {
    opened.files.push_back(file.string());
  }
  if (opened.classes.size() < 2) {
    throw FormatError(
        "malformed_file", folder.string(),
        fmt::format(
            "must have subfolders for at least two classes, got '{}' alone",
            opened.classes[0]));
  }
  if (test_folder.empty()) return opened;
  ImageFolder test = load_image_folder(test_folder, images);
  if (test.classes != opened.classes) {
    throw FormatError(
        "count_mismatch", test_folder.string(),
        fmt::format("classes must be those of 'train' ({}), got {}: labels "
                    "would differ",
                    few_names(opened.classes), few_names(test.classes)));
  }
  opened.test = std::move(test.data);
  return opened;
}

/// Whether a folder consists of two or more folders of images.
bool has_classes(const fs::path& folder) {
  const std::vector<fs::path> folders = folders_in(folder);
  return folders.size() >= 2 && !holds_images(folder) &&
         std::ranges::all_of(folders, holds_images);
}

/// Returns a class of the folder that the model lacks, if any.
std::optional<std::string> unknown_class(
    const fs::path& folder, const std::vector<std::string>& names) {
  if (names.empty()) return std::nullopt;
  for (const std::string& name : names_of(folders_in(folder))) {
    if (std::ranges::find(names, name) == names.end()) return name;
  }
  return std::nullopt;
}

// ---- without classes

struct Parts {
  fs::path train;
  fs::path test;  // or empty
};

/// Also supports YOLO's layouts: images/train beside labels/train, and
/// train/images beside train/labels.
Parts parts_in(const fs::path& folder) {
  const fs::path images = folder / "images";
  const bool inside = is_folder(images) && !is_folder(folder / "train");
  const fs::path& base = inside ? images : folder;
  const fs::path test = test_folder_of(base);
  if (test.empty()) return {base, {}};
  const auto images_of = [](const fs::path& part) {
    return is_folder(part / "images") ? part / "images" : part;
  };
  return {images_of(base / "train"), images_of(test)};
}

OpenedData open_unlabeled(const fs::path& path,
                          const OpenDataOptions& options) {
  const ImageOptions images = image_options(path, options);
  const auto load = [&](const fs::path& part) {
    return load_unlabeled_images(list_images(part), images);
  };
  const Parts parts = is_folder(path) ? parts_in(path) : Parts{path, {}};
  ImageFiles train = load(parts.train);
  OpenedData opened{.kind = is_folder(path)
                                ? "a folder of images, without labels"
                                : "an image",
                    .train = std::move(train.data)};
  for (const fs::path& file : train.files) {
    opened.files.push_back(file.string());
  }
  if (!parts.test.empty()) opened.test = load(parts.test).data;
  return opened;
}

}  // namespace

std::string few_names(const std::vector<std::string>& names) {
  constexpr size_t kShown = 5;
  const size_t shown = std::min(kShown, names.size());
  std::string text = fmt::format(
      "{}",
      fmt::join(names.begin(), names.begin() + std::ptrdiff_t(shown), ", "));
  if (names.size() > shown) {
    text += fmt::format(", ... ({} in total)", names.size());
  }
  return text;
}

bool is_image_folder(const fs::path& folder) {
  return !test_folder_of(folder).empty() || holds_images(folder) ||
         std::ranges::any_of(folders_in(folder), holds_images);
}

bool holds_any_image(const fs::path& folder) {
  return holds_images(folder) ||
         std::ranges::any_of(folders_in(folder), holds_any_image);
}

OpenedData open_images(const fs::path& path, const OpenDataOptions& options) {
  if (!options.labels_optional) return open_classes(path, options);
  if (!is_folder(path)) return open_unlabeled(path, options);
  const fs::path test = test_folder_of(path);
  const fs::path train = test.empty() ? path : path / "train";
  if (!has_classes(train) || (!test.empty() && !has_classes(test))) {
    return open_unlabeled(path, options);
  }
  if (const auto unknown = unknown_class(train, options.class_names)) {
    warn_of_labels(path, *unknown, options.class_names);
    return open_unlabeled(path, options);
  }
  return open_classes(path, options);
}

OpenedData open_image_table(const fs::path& path,
                            const OpenDataOptions& options) {
  ImageTable table =
      load_image_table(path, {.columns = options.columns,
                              .images = image_options(path, options),
                              .labels_optional = options.labels_optional});
  const ImageColumns& columns = table.columns;
  return {
      .kind = fmt::format("a table of images{}{}",
                          columns.label.empty()
                              ? ", without labels"
                              : fmt::format(", labels '{}'", columns.label),
                          columns.weight.empty()
                              ? ""
                              : fmt::format(", weights '{}'", columns.weight)),
      .train = std::move(table.train),
      .test = std::move(table.test),
      .classes = table.classes,
      .files = std::move(table.files),
      .folders = std::move(table.classes)};
}

void warn_of_labels(const fs::path& folder, const std::string& name,
                    const std::vector<std::string>& names) {
  warn("labels_ignored", folder.string(),
       fmt::format("ignores labels: '{}' is not a class of the model ({})",
                   printable(name, 80), few_names(names)));
}

void drop_labels(OpenedData& opened) {
  const std::vector<size_t> inputs = {0};
  opened.train = opened.train.select(inputs, {});
  if (opened.test) opened.test = opened.test->select(inputs, {});
  opened.classes.clear();
  opened.folders.clear();
}

}  // namespace octet::io
