// A folder of images as a Dataset: one sub-folder per class.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/preprocess.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

/// How an image of another shape becomes one of the size that is asked for.
enum class ImageFit {
  stretch,  ///< each axis by itself
  /// The largest part of the right shape, from the middle: Keras'
  /// crop_to_aspect_ratio.
  crop,
};

/// What to do about files that are no sound images.
enum class CorruptFiles {
  refuse,
  skip,  ///< leave them out and list them; every file is decoded once for that
};

struct ImageFolderOptions {
  Size2 size{256, 256};  ///< all images are resized to it
  ImageFit fit = ImageFit::stretch;
  int64_t channels = 3;  ///< 1 (grey), 3 (RGB) or 4 (RGBA)
  /// What inputs are of the bytes; Keras' modes by name are
  /// `.preprocess = preprocess_mode("caffe")`.
  Preprocess preprocess = {};
  CorruptFiles corrupt = CorruptFiles::refuse;
  /// Decode all files at once and keep them; else each when it is read.
  bool eager = false;
  /// Of images that were read, so many bytes are kept, one for each channel of
  /// a pixel. What is beyond is decoded again in each epoch.
  int64_t cache_bytes = 0;
  /// The order of the samples, as in Keras: by chance, so that a part of them
  /// has images of all classes, or by class and name.
  bool shuffle = true;
  uint64_t seed = 0;  ///< of that order
};

struct ImageFolder {
  Dataset data;
  std::vector<std::string> classes;  ///< the name of label i
  /// "<path>: <reason>" of each file that was skipped.
  std::vector<std::string> skipped = {};
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
                              const ImageFolderOptions& options = {});

}  // namespace octet::io
