// What folders and lists of images have in common. Internal to io.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <octet/io/image_files.h>

namespace octet::io {

/// Throws: ValueError naming `subject` for options out of range.
void check_image_options(std::string_view subject, const ImageOptions& options);

/// What goes with each image: a row of labels, a mask, or nothing.
struct ImageLabels {
  Tensor labels = {};
  std::vector<std::filesystem::path> masks = {};
  std::vector<int64_t> values = {};  ///< see SegmentationOptions
};

/// load_images() or load_segmentation() of checked options and labels; messages
/// name `what`.
ImageFiles read_images(const std::string& what,
                       std::vector<std::filesystem::path> files,
                       ImageLabels labels, const ImageOptions& options);

/// The entries of a folder that are not hidden, sorted by name.
/// Throws: IoError.
std::vector<std::filesystem::directory_entry> folder_entries(
    const std::filesystem::path& folder);

/// ".png" for "photo.PNG".
std::string extension_of(const std::filesystem::path& path);

/// ".bmp, .webp" for the image formats among these files that Octet does not
/// read; "" if there are none.
std::string unread_formats(const std::vector<std::filesystem::path>& files);
/// How to convert them, for hints.
inline constexpr std::string_view kConvertImages =
    "only PNG and JPEG are read; convert the others, for instance "
    "mogrify -format png FOLDER/*";

/// Whether an entry is to be read: a file by the name of an image, or a link to
/// one that is missing, which is an error that its reader names. To open a pipe
/// would wait for ever.
bool is_image_file(const std::filesystem::directory_entry& entry);

}  // namespace octet::io
