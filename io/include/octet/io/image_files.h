// Image files as a Dataset, with separate labels.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/preprocess.h>
#include <octet/io/resize.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

/// Handling of files that are not valid images.
enum class CorruptFiles {
  refuse,  ///< throw
  skip,    ///< omit and list them; decodes every file once to find them
};

/// Fields in order: size, resize, channels, preprocess, corrupt, eager,
/// cache_bytes, shuffle, seed, class_names
struct ImageOptions {
  Size2 size{256, 256};  ///< size of all images after resizing
  /// Resize method; the default is torchvision's. Keras' loaders: `.resize =
  /// resize_mode("bilinear")`.
  Resize resize = {};
  int64_t channels = 3;  ///< 1 (gray), 3 (RGB) or 4 (RGBA)
  /// Conversion of bytes to inputs. Keras' modes: `.preprocess =
  /// preprocess_mode("caffe")`.
  Preprocess preprocess = {};
  CorruptFiles corrupt = CorruptFiles::refuse;
  /// Decodes all files on loading. Otherwise each file is decoded when read.
  bool eager = false;
  /// Cache size for decoded images in bytes (h * w * channels per image).
  /// Images beyond it are decoded in each epoch.
  int64_t cache_bytes = 0;
  /// Random order of samples, as in Keras, so that a part has images of all
  /// classes. Otherwise ordered by class and name.
  bool shuffle = true;
  uint64_t seed = 0;  ///< of the random order
  /// For load_image_folder(): subfolder names in the order of the model's
  /// outputs; label i is folder class_names[i]. Empty: sorted by name, as in
  /// Keras.
  std::vector<std::string> class_names = {};
};

struct ImageFiles {
  Dataset data;
  /// "<path>: <reason>" of each skipped file; its label is omitted, too.
  std::vector<std::string> skipped = {};
  /// The file of each sample of `data`.
  std::vector<std::filesystem::path> files = {};
};

/// Returns the image at `path`, or the .png, .jpg and .jpeg files in a folder
/// and its subfolders, sorted by path. Ignores hidden entries; warns about
/// image files of other formats. In a data set of YOLO's layout, only "images"
/// is searched.
/// Throws: IoError for a missing path; FormatError if there are no such files,
/// naming the formats found.
std::vector<std::filesystem::path> list_images(
    const std::filesystem::path& path);

/// Loads images without labels, for calibration or prediction:
///   const auto images = io::load_unlabeled_images(
///       io::list_images("photos"), {.size = 224, .shuffle = false});
///   const Tensor y = model.predict(images.data.batch(0, 8).input());
/// Throws: as load_images() below.
ImageFiles load_unlabeled_images(std::vector<std::filesystem::path> files,
                                 const ImageOptions& options = {});

/// Loads images of any folders with labels in the same order, such as numbers
/// of a CSV file:
///   const io::CsvTable table = io::load_csv("angles.csv");
///   std::vector<std::filesystem::path> files;
///   for (const auto& name : table.texts("file")) files.push_back(dir / name);
///   const Dataset data =
///       io::load_images(files, table.numbers({"angle"})).data;
/// Shapes: labels i64 [n] or f32 [n,...]; inputs f32 [n,h,w,channels].
/// Throws: ShapeError for a wrong number of labels; ValueError for no files,
/// labels of another type or options out of range; FormatError if no file is
/// valid; for a single invalid or missing file, as load_image_folder().
ImageFiles load_images(std::vector<std::filesystem::path> files, Tensor labels,
                       const ImageOptions& options = {});

}  // namespace octet::io
