// A folder of images as a Dataset: one sub-folder per class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <octet/runtime/dataset.h>

namespace octet::io {

struct ImageFolderOptions {
  Size2 size{256, 256};  ///< all images are resized to it
  int64_t channels = 3;  ///< 1 (grey), 3 (RGB) or 4 (RGBA)
  /// Decode all files at once and keep them; else each when it is read.
  bool eager = false;
  /// The order of the samples, as in Keras: by chance, so that a part of them
  /// has images of all classes, or by class and name.
  bool shuffle = true;
  uint64_t seed = 0;  ///< of that order
};

struct ImageFolder {
  Dataset data;
  std::vector<std::string> classes;  ///< the name of label i
};

/// The sub-folders of `folder`, sorted by name (byte by byte), are the
/// classes; the .png, .jpg and .jpeg files in them, sorted by name, are the
/// images, in an order that depends on `seed` alone. Hidden entries are left
/// out; a warning counts other files. Inputs are f32 [n,h,w,channels] in [0,1],
/// labels i64.
/// Images beside the classes and folders in them are warned of.
/// Throws: IoError if the folder is missing; FormatError if it has no
/// sub-folders or one of them no images, as where it is the folder above or
/// below the one that is meant, and (at once if eager, else when the
/// image is read) for a file that is no sound image; ValueError for options
/// out of range; UnsupportedError in a build without the library for a file.
ImageFolder load_image_folder(const std::filesystem::path& folder,
                              const ImageFolderOptions& options = {});

}  // namespace octet::io
