// Opens a data set of any supported format: --data of all octet commands.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <octet/io/image_files.h>
#include <octet/runtime/dataset.h>

namespace octet::io {

/// Fields in order: labels, image, preprocess, usual, takes_bytes,
/// takes_numbers, corrupt, resize, class_names, labels_optional
struct OpenOptions {
  /// .npy file with the labels of a single .npy file of inputs: integers [n]
  /// (classes) or f32 [n,...] (targets).
  std::filesystem::path labels = {};
  /// [h,w,c] of images after decoding; c is 1, 3 or 4. For folders of images
  /// alone; other data keeps its size.
  Shape image = {};
  /// A preprocess_mode() for bytes, including those of .npy files. If not set,
  /// bytes in .npy files are errors and other data uses `usual`.
  std::optional<std::string> preprocess = {};
  std::string usual = "unit";  ///< default for images, IDX and CIFAR: [0,1]
  /// Applies `usual` to bytes of .npy files if `preprocess` is not set: for a
  /// model with uint8 input.
  bool takes_bytes = false;
  /// Converts signed integers and booleans of .npy files to float32: for a
  /// model with input of such a type.
  bool takes_numbers = false;
  CorruptFiles corrupt = CorruptFiles::refuse;  ///< for folders of images
  Resize resize = {};                           ///< for folders of images
  /// Class names of the model in the order of its outputs; folders of images
  /// and CIFAR get their labels by these names. Empty if unknown: label i is
  /// the i-th folder, sorted by name.
  std::vector<std::string> class_names = {};
  /// For calibration: accepts an image, or a folder of images of any structure,
  /// without labels. A folder that is not in `class_names` only causes a
  /// warning.
  bool labels_optional = false;
};

struct OpenedData {
  std::string kind;                  ///< "a folder of images", "CIFAR-10", ...
  Dataset train;                     ///< all samples if there is no `test`
  std::optional<Dataset> test = {};  ///< test part, if the data has one
  std::vector<std::string> classes = {};  ///< name of label i, if known
  /// File of each sample of `train`, for folders of images.
  std::vector<std::string> files = {};
  /// Sorted names of the class folders that contain images.
  std::vector<std::string> folders = {};
};

/// Opens a path:
///
/// - x.npy, with or without labels; or a folder with x_train.npy, y_train.npy
///   and, for the test part, x_test.npy and y_test.npy
/// - a folder of images, one subfolder per class; or two such folders named
///   train and test (or validation, valid, val)
/// - if labels are optional: an image, or a folder with images at any depth; in
///   YOLO's layout, the images of "train" and "val"
/// - a folder with IDX files in MNIST's naming, plain or gzip-compressed
/// - CIFAR-10 or CIFAR-100 in their binary version
///
/// Inputs are NHWC.
/// Throws: IoError; FormatError naming the path if it is none or several of
/// these, for bytes in a .npy file without `preprocess`, and for parts of
/// different classes; ValueError for options that do not apply to the data;
/// ShapeError; as the reader of each format.
OpenedData open_data(const std::filesystem::path& path,
                     const OpenOptions& options = {});

/// Returns ". Hint: ..." for labels that are not classes: how to convert them
/// (integers of another type or shape, one-hot) or else the loss for float
/// targets, with the output `name` if not empty. All commands share this text.
std::string labels_hint(const Tensor& labels, const std::string& name = "");

/// Reads labels of a .npy file: integers as i64, f32 unchanged.
/// Throws: as read_npy(); FormatError with a hint for i64 of a rank other than
/// 1; ShapeError unless there are `count` labels.
Tensor read_labels(const std::filesystem::path& path, int64_t count);

}  // namespace octet::io
