// A folder of images as a Dataset: one subfolder per class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/image_files.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

struct ImageFolder {
  Dataset data;
  std::vector<std::string> classes;  ///< name of label i
  /// "<path>: <reason>" of each skipped file.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// Loads a folder of images. Its subfolders, sorted by name (bytewise), are the
/// classes; their .png, .jpg and .jpeg files are the images, in an order that
/// depends on `seed` alone. Inputs are f32 [n,h,w,channels], by default in
/// [0,1] (see `preprocess`); labels are i64. Ignores hidden entries; warns
/// about other files, images beside the class folders and nested folders.
/// Throws: IoError if the folder is missing; FormatError if it has no
/// subfolders, a subfolder has no (valid) images, as in the parent or child of
/// the intended folder, or a file is not a valid image (on loading if eager,
/// otherwise when the image is read); ValueError for options out of range;
/// UnsupportedError if a file's format is not part of the build.
ImageFolder load_image_folder(const std::filesystem::path& folder,
                              const ImageOptions& options = {});

}  // namespace octet::io
