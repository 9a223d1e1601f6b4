#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "image_files.h"

namespace octet::io {
namespace {

namespace fs = std::filesystem;

constexpr auto kName = "load_segmentation";

void check_values(const std::vector<int64_t>& values) {
  std::set<int64_t> seen;
  for (const int64_t value : values) {
    if (value >= 0 && value <= 255 && seen.insert(value).second) continue;
    throw ValueError("invalid_value", "SegmentationOptions.values",
                     fmt::format("must be in [0,255] and unique, got {}{}",
                                 value, seen.contains(value) ? " twice" : ""));
  }
}

/// Returns the image files of a folder by name without extension.
std::map<std::string, fs::path> images_in(const fs::path& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) {
    throw IoError("unsupported_format", folder.string(),
                  fmt::format("must be a folder of images, got {}",
                              describe_file(folder)));
  }
  std::map<std::string, fs::path> found;
  for (const fs::directory_entry& entry : folder_entries(folder)) {
    if (!is_image_file(entry)) continue;
    const auto [other, fresh] =
        found.emplace(entry.path().stem().string(), entry.path());
    if (fresh) continue;
    throw FormatError("duplicate_name", folder.string(),
                      fmt::format("images must differ by more than their "
                                  "extension, got '{}' and '{}'",
                                  other->second.filename().string(),
                                  entry.path().filename().string()));
  }
  if (found.empty()) {
    throw FormatError("unsupported_format", folder.string(),
                      "no .png, .jpg or .jpeg files");
  }
  return found;
}

}  // namespace

ImageFiles load_segmentation(std::vector<fs::path> images,
                             std::vector<fs::path> masks,
                             const SegmentationOptions& options) {
  check_image_options(kName, options.images);
  check_values(options.values);
  if (images.empty()) {
    throw ValueError("missing_value", kName, "no files given");
  }
  if (images.size() != masks.size()) {
    throw ShapeError(
        "count_mismatch", kName,
        fmt::format("number of masks must be that of the images, {}, got {}",
                    images.size(), masks.size()));
  }
  return read_images(kName, std::move(images),
                     {.masks = std::move(masks), .values = options.values},
                     options.images);
}

ImageFiles load_segmentation_folders(const fs::path& images,
                                     const fs::path& masks,
                                     const SegmentationOptions& options) {
  std::map<std::string, fs::path> found = images_in(images);
  std::map<std::string, fs::path> masks_found = images_in(masks);
  std::error_code ignored;
  if (fs::equivalent(images, masks, ignored)) {
    if (options.mask_suffix.empty()) {
      throw ValueError("conflicting_options", images.string(),
                       "images and masks must be in different folders. Hint: "
                       "set SegmentationOptions.mask_suffix = \"_mask\" if the "
                       "names of masks have a suffix");
    }
    std::erase_if(found, [&](const auto& image) {
      return image.first.ends_with(options.mask_suffix);
    });
    std::erase_if(masks_found, [&](const auto& mask) {
      return !mask.first.ends_with(options.mask_suffix);
    });
  }
  std::vector<fs::path> files;
  std::vector<fs::path> mask_files;
  std::vector<std::string> without;
  for (const auto& [name, path] : found) {
    const auto mask = masks_found.find(name + options.mask_suffix);
    if (mask == masks_found.end()) {
      without.push_back(path.filename().string());
      continue;
    }
    files.push_back(path);
    mask_files.push_back(mask->second);
  }
  if (!without.empty()) {
    throw FormatError(
        "count_mismatch", images.string(),
        fmt::format(
            "{} of {} images have no mask in '{}', the first '{}'. Hint: {}",
            without.size(), found.size(), masks.string(), without[0],
            files.empty() ? "set SegmentationOptions.mask_suffix = \"_mask\" "
                            "if the names of masks have a suffix"
                          : "pass lists of files to load_segmentation()"));
  }
  if (masks_found.size() > mask_files.size()) {
    warn("files_ignored", masks.string(),
         fmt::format("ignored {} masks without an image in '{}'",
                     masks_found.size() - mask_files.size(), images.string()));
  }
  return load_segmentation(std::move(files), std::move(mask_files), options);
}

}  // namespace octet::io
