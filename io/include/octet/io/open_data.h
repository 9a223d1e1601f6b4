// open_data: whatever a path holds as a Dataset. The commands of octet take
// their --data by it, so that it means the same to all of them.
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
  /// A .npy file: i64, or other integers, [n] (classes), or f32 [n,...]
  /// (targets). Of a single .npy file of inputs alone.
  std::filesystem::path labels = {};
  /// [h,w,c] that images in files become: c is 1, 3 or 4. Of a folder of images
  /// alone; others are as large as they are.
  Shape image = {};
  /// A preprocess_mode() for bytes, those of .npy files too. Unless given these
  /// are refused, and others become what `usual` says.
  std::optional<std::string> preprocess = {};
  std::string usual = "unit";  ///< of images, IDX and CIFAR: [0,1]
  /// Bytes of .npy files become what `usual` says where `preprocess` is not
  /// given: of a model with an input of bytes.
  bool takes_bytes = false;
  /// Signed integers and booleans of .npy files become float32 of the same
  /// value: of a model with an input of such a type.
  bool takes_numbers = false;
  CorruptFiles corrupt = CorruptFiles::refuse;  ///< of a folder of images
  Resize resize = {};                           ///< of a folder of images
  /// The names of the model's classes in the order of its outputs, or none if
  /// they are not known: folders of images and CIFAR get their labels by these
  /// names. Empty: label i is the i-th folder, sorted by name.
  std::vector<std::string> class_names = {};
  /// Labels are not needed, as for calibration: an image file, or a folder of
  /// images of any structure, is taken without labels. So are folders that are
  /// not in `class_names`, with a warning.
  bool labels_optional = false;
};

struct OpenedData {
  std::string kind;                  ///< "a folder of images", "CIFAR-10", ...
  Dataset train;                     ///< all samples, where there is no `test`
  std::optional<Dataset> test = {};  ///< the part that comes for that
  std::vector<std::string> classes = {};  ///< the name of label i, if known
  /// The file of each sample of `train`, of a folder of images.
  std::vector<std::string> files = {};
  /// The names of the folders that have images, sorted: of a folder of images
  /// with classes.
  std::vector<std::string> folders = {};
};

/// Opens what is there:
///
/// - x.npy, with or without labels; or a folder with x_train.npy, y_train.npy
///   and, for the second part, x_test.npy and y_test.npy
/// - a folder of images, one sub-folder a class; or two such folders named
///   train and test, or validation, valid or val, for the two parts
/// - if labels are optional: an image, or a folder with images at any depth; of
///   the layout of YOLO, the images of its parts "train" and "val"
/// - a folder with the IDX files of MNIST and its relatives, plain or gzipped
/// - CIFAR-10 or CIFAR-100 in their binary version
///
/// Inputs are NHWC. Throws: IoError; FormatError naming the path for what is
/// none of these, or several of them, for bytes in a .npy file without
/// `preprocess`, and for parts of different classes; ValueError for options
/// that the data has no use for; ShapeError; as the reader of each.
OpenedData open_data(const std::filesystem::path& path,
                     const OpenOptions& options = {});

/// ". Hint: ..." for labels that are no classes where classes are expected: how
/// to make classes of these values (whole numbers in another type or shape, one
/// of many), else the loss for targets, of the output `name` if it has one. The
/// words are the same for every command.
std::string labels_hint(const Tensor& labels, const std::string& name = "");

/// Labels of a .npy file: integers as i64, f32 as they are.
/// Throws: as read_npy(); FormatError for i64 of another rank than 1, naming
/// the cure; ShapeError unless there are `count`.
Tensor read_labels(const std::filesystem::path& path, int64_t count);

}  // namespace octet::io
