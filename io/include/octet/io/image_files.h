// Image files as a Dataset, with labels from elsewhere.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/preprocess.h>
#include <octet/io/resize.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

/// What to do about files that are no sound images.
enum class CorruptFiles {
  refuse,
  skip,  ///< leave them out and list them; every file is decoded once for that
};

/// Fields in order: size, resize, channels, preprocess, corrupt, eager,
/// cache_bytes, shuffle, seed, class_names
struct ImageOptions {
  Size2 size{256, 256};  ///< all images are resized to it
  /// How images of other sizes are resized: as torchvision. Keras' loaders do
  /// it as `.resize = resize_mode("bilinear")`.
  Resize resize = {};
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
  /// Of load_image_folder(): names of the sub-folders in the order of the
  /// model's outputs, as in Keras. Label i is the folder class_names[i]. Empty:
  /// sorted by name.
  std::vector<std::string> class_names = {};
};

struct ImageFiles {
  Dataset data;
  /// "<path>: <reason>" of each file that was skipped, its label with it.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// The image at `path`, or the .png, .jpg and .jpeg files in a folder and in
/// all folders below it, sorted by path. Hidden entries are left out; a warning
/// names image files of other formats. Of a data set in the layout of YOLO it
/// is "images" alone that has any.
/// Throws: IoError for a path that is missing; FormatError if there are no such
/// files, naming the formats of those that there are.
std::vector<std::filesystem::path> list_images(
    const std::filesystem::path& path);

/// Images without labels, to calibrate on or to predict:
///   const auto images = io::load_unlabeled_images(
///       io::list_images("photos"), {.size = 224, .shuffle = false});
///   const Tensor y = model.predict(images.data.batch(0, 8).input());
/// Throws: as load_images() below.
ImageFiles load_unlabeled_images(std::vector<std::filesystem::path> files,
                                 const ImageOptions& options = {});

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
