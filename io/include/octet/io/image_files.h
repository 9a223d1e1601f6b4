// Image files as a Dataset, with labels from elsewhere.
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

/// Fields in order: size, fit, channels, preprocess, corrupt, eager,
/// cache_bytes, shuffle, seed
struct ImageOptions {
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

struct ImageFiles {
  Dataset data;
  /// "<path>: <reason>" of each file that was skipped, its label with it.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// Images of any folders with labels in the same order: numbers of a CSV file,
/// for instance:
///   const io::CsvTable table = io::load_csv("angles.csv");
///   std::vector<std::filesystem::path> files;
///   for (const auto& name : table.texts("file")) files.push_back(dir / name);
///   const Dataset data =
///       io::load_images(files, table.numbers({"angle"})).data;
/// Shapes: labels i64 [n] or f32 [n,...]; inputs f32 [n,h,w,channels].
/// Throws: ShapeError for another number of labels; ValueError for no files,
/// other labels or options out of range; FormatError if no file is sound, and
/// as load_image_folder() for a file that is no sound image or is missing.
ImageFiles load_images(std::vector<std::filesystem::path> files, Tensor labels,
                       const ImageOptions& options = {});

}  // namespace octet::io
