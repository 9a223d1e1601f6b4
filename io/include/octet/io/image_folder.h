// A folder of images as a Dataset: one sub-folder per class.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/image_files.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

struct ImageFolder {
  Dataset data;
  std::vector<std::string> classes;  ///< the name of label i
  /// "<path>: <reason>" of each file that was skipped.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// The sub-folders of `folder`, sorted by name (byte by byte), are the
/// classes; the .png, .jpg and .jpeg files in them, sorted by name, are the
/// images, in an order that depends on `seed` alone. Hidden entries are left
/// out; a warning counts other files. Inputs are f32 [n,h,w,channels], in [0,1]
/// unless `preprocess` says otherwise, labels i64.
/// Images beside the classes and folders in them are warned of.
/// Throws: IoError if the folder is missing; FormatError if it has no
/// sub-folders or one of them no (sound) images, as where it is the folder
/// above or below the one that is meant, and (at once if eager, else when the
/// image is read) for a file that is no sound image; ValueError for options
/// out of range; UnsupportedError in a build without the library for a file.
ImageFolder load_image_folder(const std::filesystem::path& folder,
                              const ImageOptions& options = {});

}  // namespace octet::io
