// Common parts of image folders and image lists. Internal to io.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/image.h>

namespace octet::io {

/// Throws: ValueError naming `subject` for options out of range.
void check_image_options(std::string_view subject, const ImageOptions& options);

/// Labels of images: rows of labels, masks, or none.
struct ImageLabels {
  Tensor labels = {};
  std::vector<std::filesystem::path> masks = {};
  std::vector<int64_t> values = {};  ///< see SegmentationOptions
};

/// Implements load_images() and load_segmentation() for checked options and
/// labels; `what` is the subject of messages.
ImageFiles read_images(const std::string& what,
                       std::vector<std::filesystem::path> files,
                       ImageLabels labels, const ImageOptions& options);

/// Returns the entries of a folder that are not hidden, sorted by name.
/// Throws: IoError.
std::vector<std::filesystem::directory_entry> folder_entries(
    const std::filesystem::path& folder);

/// ".png" for "photo.PNG".
std::string extension_of(const std::filesystem::path& path);

/// Returns the unsupported image formats among these files, ".bmp, .webp"; ""
/// if there are none.
std::string unread_formats(const std::vector<std::filesystem::path>& files);
/// Hint how to convert them.
inline constexpr std::string_view kConvertImages =
    "only PNG and JPEG are supported; convert the other images: mogrify "
    "-format png FOLDER/*";

/// Whether an entry should be read: a file with an image extension, or a broken
/// link, which its reader reports. Opening a pipe would block.
bool is_image_file(const std::filesystem::directory_entry& entry);

}  // namespace octet::io
